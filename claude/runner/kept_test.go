package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/claude/runner"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
)

// once answers with a call of Bash first, and with a text then.
func once(command string) func(*asked) said {
	return func(a *asked) said {
		if !strings.Contains(a.text(), "tool_result") {
			return said{text: "I work.", in: 100, out: 50, calls: []toolCall{{"toolu_1", "Bash", fmt.Sprintf(`{"command":%q,"description":"d"}`, command)}}}
		}
		return said{text: "Done.", in: 200, out: 7}
	}
}

// made reads a file of the working folder; empty for none.
func made(o runner.Options, name string) string {
	text, _ := os.ReadFile(filepath.Join(o.Dir, name))
	return string(text)
}

// A refused call does not run, and the model reads why. The call behind it runs.
func TestProgramRefusedCall(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		if a.answers() == 0 {
			return said{in: 1, out: 1, calls: []toolCall{
				{"toolu_1", "Write", `{"file_path":"x","content":"y"}`}, {"toolu_2", "Bash", `{"command":"echo ran > ran.txt","description":"d"}`},
			}}
		}
		return said{text: "Done.", in: 1, out: 1}
	})
	o := options(t, m)
	conv := braid.NewConversation()
	refuse := braid.On(func(_ context.Context, e *hook.BeforeTool) error {
		if e.Call.Name == "Write" {
			e.Cancel = "Nobody writes here."
		}
		return nil
	})
	r, err := runner.New("coder", o, refuse).Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Text() != "Done." || made(o, "ran.txt") != "ran\n" || made(o, "x") != "" {
		t.Errorf("%+v, %v, %q", r, err, logOf(t, conv))
	}
	all := m.requests()
	if last := all[len(all)-1].text(); !strings.Contains(last, "Nobody writes here.") {
		t.Errorf("the model reads %s", last)
	}
}

// A call that needs approval waits in the program, which is kept for the answer.
func TestProgramApproval(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		m := startMessages(t, once("echo ran > ran.txt"))
		o := options(t, m)
		agent := runner.New("coder", o, braid.Permit(braid.Permissions{Ask: []string{"Bash"}}))
		conv := braid.NewConversation()
		r, err := agent.Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Status != event.RunWaiting || made(o, "ran.txt") != "" {
			t.Fatalf("%+v, %v", r, err)
		}
		answer := event.Approval{Approved: approve}
		r, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: answer}))
		if err != nil || r.Text() != "Done." || (made(o, "ran.txt") == "ran\n") != approve {
			t.Errorf("%v: %+v, %v, %q", approve, r, err, logOf(t, conv))
		}
		if n := len(m.requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}

// An approval that comes when the program has ended reaches no call: the model may ask again.
func TestProgramApprovalAfterTheEnd(t *testing.T) {
	t.Parallel()
	m := startMessages(t, once("echo ran > ran.txt"))
	o := options(t, m)
	o.Idle = -1
	agent := runner.New("coder", o, braid.Permit(braid.Permissions{Ask: []string{"Bash"}}))
	conv := braid.NewConversation()
	r, err := agent.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Status != event.RunWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: event.Approval{Approved: true}}))
	if err != nil || r.Text() != "Done." || made(o, "ran.txt") != "" || !strings.Contains(strings.Join(logOf(t, conv), "\n"), "it was not run") {
		t.Errorf("%+v, %v, %q", r, err, logOf(t, conv))
	}
}

// What a hook makes of the arguments is what runs, and its beginning is in the log before.
func TestProgramHookChangesACall(t *testing.T) {
	t.Parallel()
	m := startMessages(t, once("echo wrong > ran.txt"))
	o := options(t, m)
	conv := braid.NewConversation()
	agent := runner.New("coder", o, braid.On(func(_ context.Context, e *hook.BeforeTool) error {
		if made(o, "ran.txt") != "" {
			t.Error("it ran before the hook")
		}
		e.Args = []byte(`{"command":"echo right > ran.txt","description":"d"}`)
		return nil
	}))
	if r, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil || made(o, "ran.txt") != "right\n" {
		t.Errorf("%+v, %v, %q", r, err, made(o, "ran.txt"))
	}
}

// A run that is cancelled ends the program and what it runs.
func TestProgramCancel(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*asked) said{
		"stream": func(*asked) said { return said{text: "Slow text.", slow: true, in: 1, out: 1} },
		"tool":   once("echo begun > begun.txt; sleep 20; echo ended > ended.txt"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMessages(t, answer)
			o := options(t, m)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			begin := time.Now()
			for e, err := range runner.New("coder", o).Stream(ctx, "go") {
				switch b := e.Body.(type) {
				case *event.TextDelta:
					if name == "stream" {
						cancel()
					}
				case *event.StepBegun:
					if b.Step == event.StepTool {
						go func() {
							for made(o, "begun.txt") == "" && ctx.Err() == nil {
								<-time.After(time.Millisecond)
							}
							cancel()
						}()
					}
				}
				_ = err
			}
			if took := time.Since(begin); took > 15*time.Second || made(o, "ended.txt") != "" {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The deltas of an answer that broke off are withdrawn, and what it used is counted.
func TestProgramStreamBreaks(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		if a.n == 1 {
			return said{text: "Broken text.", cut: true, in: 10, out: 5}
		}
		return said{text: "Whole text.", in: 10, out: 5}
	})
	shown, final := "", ""
	for e, err := range runner.New("coder", options(t, m)).Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.TextDelta:
			shown += b.Text
		case *event.AnswerReplaced:
			shown = b.Text
		case *event.AssistantMessage:
			final = event.TextOf(b.Content)
		}
	}
	if shown != "Whole text." || final != "Whole text." {
		t.Errorf("%q is shown, %q is kept", shown, final)
	}
}

// Failures of models have Braid's kinds.
func TestProgramFailures(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]event.ErrorKind{400: event.ErrModel, 401: event.ErrModelAuth, 404: event.ErrModelNotFound} {
		m := startMessages(t, func(*asked) said { return said{status: status} })
		r, err := runner.New("coder", options(t, m)).Run(t.Context(), "go")
		if !errors.Is(err, kind) || r.Status != event.RunFailed {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// An overloaded model is asked again by Braid, so that the log has each attempt.
func TestProgramOverload(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		if a.n == 1 {
			return said{status: 529}
		}
		return said{text: "Late.", in: 1, out: 1}
	})
	conv := braid.NewConversation()
	r, err := runner.New("coder", options(t, m), braid.Retries(braid.Retry{Attempts: 3, Base: time.Millisecond, Exact: true})).Run(t.Context(), "go", braid.In(conv))
	want := []string{"run_started ", "user_message ", "step_begun m1", "step_ended m1 failed overloaded", "step_begun m1", `assistant_message m1 "Late." calls=0 1/1`, "run_ended "}
	if got := logOf(t, conv); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, %q", r, err, got)
	}
}

// A sub-agent that fails is a result for the model.
func TestProgramSubAgentFails(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		switch {
		case a.Agent != "":
			return said{status: 400}
		case a.answers() == 0:
			return said{in: 1, out: 1, calls: []toolCall{{"toolu_a", "Task", `{"description":"A","prompt":"DO A","subagent_type":"helper"}`}}}
		}
		return said{text: "It failed.", in: 1, out: 1}
	})
	o := options(t, m)
	o.Agents = map[string]claude.Agent{"helper": {Description: "Helps.", Prompt: "You help."}}
	conv := braid.NewConversation()
	if r, err := runner.New("coder", o).Run(t.Context(), "go", braid.In(conv)); err != nil || r.Text() != "It failed." {
		t.Errorf("%+v, %v, %q", r, err, logOf(t, conv))
	}
}

// What the user says during a run reaches the model with its next call.
func TestProgramMessageDuringARun(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		if a.n == 1 {
			return said{in: 1, out: 1, calls: []toolCall{{"toolu_1", "Bash", `{"command":"echo one","description":"d"}`}}}
		}
		return said{text: "Done.", in: 1, out: 1}
	})
	agent := runner.New("coder", options(t, m))
	conv := braid.NewConversation()
	for e, err := range agent.Stream(t.Context(), "go", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.StepBegun); ok && b.Step == event.StepTool {
			if _, err := agent.Send(t.Context(), conv, "And be quick.", braid.During(braid.Steer)); err != nil {
				t.Error(err)
			}
		}
	}
	all := m.requests()
	if last := all[len(all)-1].text(); len(all) != 2 || !strings.Contains(last, "And be quick.") || !strings.Contains(last, `"toolu_1"`) {
		t.Errorf("%d requests, %s", len(all), last)
	}
}

// An agent of another agent's run is refused, because nothing would tell it of the log.
func TestProgramBelowAnotherAgent(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(*asked) said { return said{text: "x"} })
	o := options(t, m)
	below := runner.New("below", o)
	o.Agents = nil
	lead := braid.New("lead", calls{}, braid.AsTool(below, "Helps."))
	conv := braid.NewConversation()
	_, err := lead.Run(t.Context(), "go", braid.In(conv))
	if log := strings.Join(logOf(t, conv), "\n"); err != nil || !strings.Contains(log, "must be the first agent") {
		t.Errorf("%v, %s", err, log)
	}
}

func TestProgramMissing(t *testing.T) {
	t.Parallel()
	// One that ends at once is not started again and again.
	begin := time.Now()
	_, bad := runner.New("coder", runner.Options{Claude: []claude.Option{claude.Command("/bin/false")}, Scratch: t.TempDir()}).Run(t.Context(), "go")
	if !errors.Is(bad, event.ErrModel) || time.Since(begin) > 3*time.Second {
		t.Error(bad, time.Since(begin))
	}
	_, err := runner.New("coder", runner.Options{Claude: []claude.Option{claude.Command("/no/such/program")}, Scratch: t.TempDir()}).Run(t.Context(), "go")
	if !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
}

// A driver that dies at any commit leaves a run that another agent, in another folder, ends from the log. A command has run at
// most once for each time that the model asked for it.
func TestProgramContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	for after := 1; after < 8; after++ {
		t.Run(fmt.Sprint("event ", after), func(t *testing.T) {
			t.Parallel()
			ledger := filepath.Join(t.TempDir(), "ledger")
			m := startMessages(t, once("echo ran >> "+ledger))
			store := &journal.Memory{}
			if _, err := runner.New("coder", options(t, m)).Run(t.Context(), "go", braid.In(braid.Open(&dyingStore{Memory: store, after: int64(after)}, "c"))); err == nil {
				t.Fatal("the driver did not die")
			}
			before := logOf(t, braid.Open(store, "c"))
			r, err := runner.New("coder", options(t, m)).Resume(t.Context(), braid.Open(store, "c"))
			if err != nil || r.Text() != "Done." {
				t.Fatalf("%+v, %v, after %q", r, err, before)
			}
			text, _ := os.ReadFile(ledger)
			log := logOf(t, braid.Open(store, "c"))
			begun := 0
			for _, line := range log {
				if strings.HasPrefix(line, "step_begun t") {
					begun++
				}
			}
			if ran := strings.Count(string(text), "ran"); ran > begun || ran > 1 {
				t.Errorf("it ran %d times, begun %d times: %q", ran, begun, log)
			}
		})
	}
}

// dyingStore takes no commit once the log has an event with Seq after, and lets nobody release the lease.
type dyingStore struct {
	*journal.Memory
	after int64
	mu    sync.Mutex
	dead  bool
}

func (s *dyingStore) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead && len(b.Events) > 0 {
		return &event.Error{Kind: event.ErrInternal, Message: "dead"}
	}
	if n := len(b.Events); n > 0 && b.Events[n-1].Seq >= s.after {
		s.dead = true
	}
	return s.Memory.Commit(ctx, l, b)
}
