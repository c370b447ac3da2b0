package flow

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// An agent of a flow asks before its tools as its own permissions, and those of the flow, say.
func TestPermissionsInsideAFlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ part, flow braid.Permissions }{
		"of the agent": {part: braid.Permissions{Ask: []string{"look"}}},
		"of the flow":  {flow: braid.Permissions{Ask: []string{"look"}}},
	} {
		ran := 0
		tl := braid.Func("look", "Looks.", func(_ context.Context, in input) (string, error) { ran++; return look(t.Context(), in) }, tool.Pure())
		s := Sequence("s", agent("a"), braid.New("b", &echo{name: "b", tool: "look"}, tl, braid.Permit(c.part))).Use(braid.Permit(c.flow))
		conv := braid.NewConversation()
		r, err := s.Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 || r.Questions[0].Scope != "f2" || ran != 0 {
			t.Fatalf("%s: %s, %v, %+v, ran %d times", name, r.Status, err, r.Questions, ran)
		}
		if err := conv.Answer(t.Context(), r.Questions[0].Token, event.Approval{Approved: true}); err != nil {
			t.Fatal(err)
		}
		if r, err = s.Resume(t.Context(), conv); err != nil || r.Text() != "b(found a(go))" || ran != 1 {
			t.Errorf("%s: %q, ran %d times, %v", name, r.Text(), ran, err)
		}
	}
}

// Guardrails of the flow look at all that is said inside, and those of an agent at what it is asked.
func TestGuardrailsInsideAFlow(t *testing.T) {
	t.Parallel()
	mask := func(_ context.Context, text string) (string, error) {
		return strings.ReplaceAll(text, "4711", "****"), nil
	}
	for name, s := range map[string]*braid.Agent{
		"of the flow":  Sequence("s", agent("a"), agent("b")).Use(braid.Guard("mask", mask)),
		"of the first": Sequence("s", braid.New("a", &echo{name: "a"}, braid.Guard("mask", mask)), agent("b")),
		"of the last":  Sequence("s", agent("a"), braid.New("b", &echo{name: "b"}, braid.Guard("mask", mask))),
	} {
		if r, err := s.Run(t.Context(), "card 4711"); err != nil || r.Text() != "b(a(card ****))" {
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		}
	}
}

// A message that comes during the run of a flow is the next run's.
func TestAMessageDuringAFlow(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	conv := braid.Open(store, "c")
	tell := braid.Func("look", "Tells.", func(ctx context.Context, _ input) (string, error) {
		_, err := agent("x").Send(ctx, conv, "and this", braid.During(braid.Steer))
		return "told", err
	})
	s := Sequence("s", braid.New("a", &echo{name: "a", tool: "look"}, tell), agent("b"))
	r, err := s.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Text() != "b(a(told))" {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	queue, err := store.Queue(t.Context(), conv.ID())
	if err != nil || len(queue) != 1 {
		t.Fatal(queue, err)
	}
	if r, err = Sequence("s", agent("a"), agent("b")).Drive(t.Context(), conv, queue[0].ID, braid.Work{}); err != nil || r.Text() != "b(a(and this))" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// The output of a flow is checked as one agent's is.
func TestTheOutputOfAFlow(t *testing.T) {
	t.Parallel()
	type wanted struct {
		N int `json:"n"`
	}
	raw := kindFunc(func(s Scope) Command { return Command{Finish: true, Output: s.Input} })
	got, _, err := braid.RunAs[wanted](t.Context(), braid.NewFlow("s", raw), `{"n":7}`)
	if err != nil || got.N != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err = braid.RunAs[wanted](t.Context(), braid.NewFlow("s", raw), "seven"); err == nil {
		t.Error("words are taken for the output")
	}
}
