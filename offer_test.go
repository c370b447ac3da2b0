package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// offeredTo records the names of the tools that each call of a model is offered.
type offeredTo struct {
	braid.Model
	mu    sync.Mutex
	names [][]string
}

func (m *offeredTo) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	var names []string
	for i := range req.Tools {
		names = append(names, req.Tools[i].Name)
	}
	m.mu.Lock()
	m.names = append(m.names, names)
	m.mu.Unlock()
	return m.Model.Stream(ctx, req)
}

type nothing struct{}

func saysName(name string) *braid.FuncTool {
	return braid.Func(name, "Says its name.", func(context.Context, nothing) (string, error) { return name, nil }, tool.Pure())
}

// allResults are the texts of the results that a conversation's model sees.
func allResults(t *testing.T, conv *braid.Conversation) (texts []string) {
	t.Helper()
	msgs, err := conv.Messages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		for _, b := range m.Content {
			if r, ok := b.(*event.ToolResult); ok {
				texts = append(texts, event.TextOf(r.Content))
			}
		}
	}
	return texts
}

// A tool changes the tools of the agent that runs it: the calls of the same answer still
// find what the model was offered, and the next call is offered what there is then.
func TestToolsChangeWhileAnAgentRuns(t *testing.T) {
	t.Parallel()
	model := &offeredTo{Model: answers(asksFor("change", "{}", "old", "{}"), asksFor("new", "{}", "old", "{}"), says("done"))}
	var agent *braid.Agent
	change := braid.Func("change", "Changes the tools.", func(context.Context, nothing) (string, error) {
		return "changed", agent.ReplaceTools([]string{"old", "no such tool"}, saysName("new"), saysName("more"))
	})
	agent = braid.New("shifting", model, braid.Sequential(), braid.Tools(change, saysName("old")))
	conv := braid.NewConversation()
	if _, err := agent.Run(context.Background(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"change", "old"}, {"change", "new", "more"}, {"change", "new", "more"}}
	if !slices.EqualFunc(model.names, want, slices.Equal) {
		t.Errorf("offered %v, want %v", model.names, want)
	}
	results := allResults(t, conv)
	wantResults := []string{
		"changed", "old", "new", `Error: there is no tool called "old"; the tools are: change, new, more.`,
	}
	if !slices.Equal(results, wantResults) {
		t.Errorf("results %q, want %q", results, wantResults)
	}
}

func TestWrongToolsChangeNothing(t *testing.T) {
	t.Parallel()
	agent := braid.New("steady", answers(says("hi")), braid.Tools(saysName("a"), saysName("b")))
	broken := braid.Func("c", "Takes no object.", func(context.Context, int) (string, error) { return "", nil })
	for what, err := range map[string]error{
		"taken":    agent.AddTools(saysName("c"), saysName("a")),
		"twice":    agent.AddTools(saysName("c"), saysName("c")),
		"bad name": agent.AddTools(saysName("c"), saysName("not a name")),
		"broken":   agent.AddTools(saysName("c"), broken),
		"nil":      agent.AddTools(saysName("c"), nil),
		"replaced": agent.ReplaceTools([]string{"a"}, saysName("b")),
	} {
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(agent.Tools()); n != 2 || agent.Err() != nil {
		t.Errorf("%d tools, %v", n, agent.Err())
	}
	agent.RemoveTools("a", "b", "c")
	if n := len(agent.Tools()); n != 0 {
		t.Errorf("%d tools are left", n)
	}
	if _, err := agent.Run(context.Background(), "hello"); err != nil {
		t.Error(err)
	}
}

// An agent with many tools finds each of them, however they came and went.
func TestManyToolsComeAndGo(t *testing.T) {
	t.Parallel()
	agent := braid.New("many", answers(says("hi")))
	for i := range 30 {
		agent.Use(braid.Tools(saysName(fmt.Sprint("t", i))))
	}
	agent.RemoveTools("t3", "t29", "t0")
	if err := agent.AddTools(saysName("t3")); err != nil {
		t.Fatal(err)
	}
	if err := agent.AddTools(saysName("t4")); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("t4 was added twice: %v", err)
	}
	var names []string
	for _, tool := range agent.Tools() {
		names = append(names, tool.Spec().Name)
	}
	if len(names) != 28 || names[0] != "t1" || names[27] != "t3" {
		t.Errorf("%v", names)
	}
}

// picky refuses tools that are called "never".
type picky struct{ braid.Model }

func (picky) Check(req *model.Request) error {
	if slices.ContainsFunc(req.Tools, func(s model.ToolSpec) bool { return s.Name == "never" }) {
		return &event.Error{Kind: event.ErrUnsupported, Message: "never"}
	}
	return nil
}

func TestToolsThatTheModelRefusesAreNotAdded(t *testing.T) {
	t.Parallel()
	agent := braid.New("picky", picky{answers(says("hi"))}, braid.Tools(saysName("a")))
	if err := agent.AddTools(saysName("never")); !errors.Is(err, event.ErrUnsupported) || !strings.Contains(err.Error(), "picky") {
		t.Errorf("%v", err)
	}
	if err := agent.Err(); err != nil || len(agent.Tools()) != 1 {
		t.Errorf("%v, %d tools", err, len(agent.Tools()))
	}
}

// Runs go on while tools come and go; each answer's calls find their tools.
func TestToolsChangeUnderManyRuns(t *testing.T) {
	t.Parallel()
	model := answers(asksFor("base", "{}"), says("done"))
	agent := braid.New("busy", model, braid.Tools(saysName("base")))
	var runs, changes sync.WaitGroup
	stop := make(chan struct{})
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprint("extra", i%12)
			if err := agent.AddTools(saysName(name)); err != nil {
				t.Error(err)
			}
			agent.RemoveTools(name)
		}
	})
	for range 4 {
		runs.Go(func() {
			for range 20 {
				r, err := agent.Run(context.Background(), "go")
				if err != nil || r.Metrics.ToolErrors != 0 {
					t.Errorf("%v, %+v", err, r.Metrics)
				}
			}
		})
	}
	runs.Wait()
	close(stop)
	changes.Wait()
}

// Whoever goes on with a parked run brings the tools of its own agent.
func TestAResumedRunFindsTheToolsOfToday(t *testing.T) {
	t.Parallel()
	ask := braid.Func("ask", "Asks.", func(ctx context.Context, _ nothing) (string, error) {
		ok, err := braid.Ask[bool](ctx, "Sure?")
		return fmt.Sprint("first ", ok), err
	})
	again := braid.Func("ask", "Asks.", func(ctx context.Context, _ nothing) (string, error) {
		ok, err := braid.Ask[bool](ctx, "Sure?")
		return fmt.Sprint("second ", ok), err
	})
	model := answers(asksFor("ask", "{}"), says("done"))
	conv := braid.NewConversation()
	r, err := braid.New("asker", model, braid.Tools(ask)).Run(context.Background(), "go", braid.In(conv))
	if err != nil || len(r.Questions) != 1 {
		t.Fatalf("%v, %+v", err, r.Questions)
	}
	if err := conv.Answer(context.Background(), r.Questions[0].Token, true); err != nil {
		t.Fatal(err)
	}
	r, err = braid.New("asker", model, braid.Tools(again)).Resume(context.Background(), conv)
	if err != nil || r.Text() != "done" {
		t.Errorf("%v, %q", err, r.Text())
	}
	if got := allResults(t, conv); !slices.Equal(got, []string{"second true"}) {
		t.Errorf("%q", got)
	}
}

// Where a model may use no tool any more the log says that, once, and not nothing: also to who reads
// it as JSON, and to a driver that takes the run over.
func TestTheLogSaysThatNoToolIsLeft(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]journal.Store{"memory": &journal.Memory{}, "JSON on a disk": openSQLite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var agent *braid.Agent
			agent = braid.New("a", answers(asksFor("last", `{}`), asksFor("last", `{}`), asksFor("back", `{}`), says("ok")),
				braid.Func("last", "", func(ctx context.Context, _ nothing) (string, error) {
					agent.RemoveTools("last")
					_, err := braid.Ask[bool](ctx, "Sure?")
					return "", err
				}))
			conv := braid.Open(store, "talk")
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil || len(r.Questions) != 1 {
				t.Fatal(r, err)
			}
			if err := conv.Answer(t.Context(), r.Questions[0].Token, true); err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Resume(t.Context(), braid.Open(store, "talk")); err != nil {
				t.Fatal(err)
			}
			var said []string
			for e, err := range braid.Open(store, "talk").Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.StepBegun); ok && b.Tools != nil {
					said = append(said, fmt.Sprint(e.Step, b.Tools))
				}
			}
			if want := []string{"m2[]"}; !slices.Equal(said, want) {
				t.Errorf("the log says %q, want %q", said, want)
			}
		})
	}
}

// The log says what a model could use, where that is not what it said before.
func TestTheLogNamesTheToolsThatChange(t *testing.T) {
	t.Parallel()
	var agent *braid.Agent
	sub := braid.New("sub", answers(says("done")), saysName("inner"))
	agent = braid.New("a", answers(asksFor("more", `{}`), asksFor("one", `{}`, "sub", `{"input":"x"}`), asksFor("less", `{}`), says("ok")),
		braid.Func("more", "", func(context.Context, nothing) (string, error) {
			return "", agent.AddTools(saysName("one"), saysName("two"))
		}),
		braid.Func("less", "", func(context.Context, nothing) (string, error) { agent.RemoveTools("two"); return "", nil }),
		braid.AsTool(sub, "Is asked."))
	conv := braid.NewConversation()
	if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), "again", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var said []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.RunStarted:
			said = append(said, fmt.Sprint(b.Turn, b.Tools))
		case *event.StepBegun:
			if b.Tools != nil {
				said = append(said, fmt.Sprint(e.Step, b.Tools))
			}
		}
	}
	want := []string{
		"1 [more less sub]", "m2[more less sub one two]", "t2.1/m1[inner]", "m4[more less sub one]",
		"2 [more less sub one]",
	}
	if len(said) < len(want) || !slices.Equal(said[:len(want)], want) {
		t.Errorf("the log says %q, want %q", said, want)
	}
}
