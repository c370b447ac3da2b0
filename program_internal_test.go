package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// playedProgram is a foreign program that calls a tool and answers. It goes on from what the log has, as a program does
// that resumes its session.
type playedProgram struct {
	effect event.Effect
	// ran counts how often the tool really ran.
	mu  sync.Mutex
	ran int
	// committed has one token for each commit; the program waits for it after each report. nil is no waiting.
	committed chan struct{}
	// odd makes the program report a result of a call that nobody made.
	odd bool
}

func (p *playedProgram) Start(w *drive.Work, to drive.Reporter) {
	go func() {
		defer to.Report(drive.Arrival{Work: w})
		for len(p.committed) > 0 {
			<-p.committed // those of before
		}
		say := func(r drive.ProgramReport) {
			to.Report(drive.Arrival{Work: w, Program: &r})
			if p.committed != nil {
				select {
				case <-p.committed:
				case <-to.Quit:
				}
			}
		}
		if p.odd {
			say(drive.ProgramReport{Result: &event.ToolResult{Call: "nobody"}})
			return
		}
		open, last := w.Program.Open, w.Program.Messages[len(w.Program.Messages)-1]
		_, answered := last.Content[0].(*event.ToolResult)
		if !answered && len(open) == 0 {
			call := &event.ToolCall{ID: "c1", Name: "edit", Args: json.RawMessage(`{"file":"a"}`)}
			say(drive.ProgramReport{Model: "its own"})
			to.Report(drive.Arrival{Work: w, Live: &event.TextDelta{Text: "I edit."}})
			say(drive.ProgramReport{Message: &event.AssistantMessage{
				Content: []event.Block{&event.Text{Text: "I edit."}, call}, Stop: event.StopToolUse,
			}})
			open = append(open, call)
		}
		for _, c := range open {
			say(drive.ProgramReport{Call: c.ID, Effect: p.effect})
			p.mu.Lock()
			p.ran++
			p.mu.Unlock()
			to.Report(drive.Arrival{Work: w, Live: &event.ToolProgress{Call: c.ID, Tool: c.Name, Text: "half"}})
			say(drive.ProgramReport{Result: &event.ToolResult{Call: c.ID, Content: []event.Block{&event.Text{Text: "edited"}}}})
		}
		say(drive.ProgramReport{Model: "its own"})
		say(drive.ProgramReport{Message: &event.AssistantMessage{Content: []event.Block{&event.Text{Text: "Done."}}, Stop: event.StopEndTurn}})
	}()
}

func (p *playedProgram) Abandon(*drive.Work) {}

// worksIn lets a program work in the place of the agent a.
func worksIn(p drive.StepRunner) RunOption {
	return runOption(func(o *runOptions) { o.Programs = map[string]drive.StepRunner{"a": p} })
}

// logOf returns what stands in a conversation's log, one line for an event.
func logOf(t *testing.T, c *Conversation) (lines []string) {
	t.Helper()
	for e, err := range c.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %d", e.Body.Kind(), e.Step, e.Attempt)
		if b, ok := e.Body.(*event.StepEnded); ok {
			line += " " + string(b.Outcome)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAProgramWorksInThePlaceOfAnAgent(t *testing.T) {
	t.Parallel()
	program := &playedProgram{effect: event.EffectUnsafe}
	agent := New("a", silentModel{})
	conv := NewConversation()
	var live []string
	for e, err := range agent.Stream(t.Context(), "go", In(conv), worksIn(program)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq == 0 {
			live = append(live, string(e.Body.Kind())+" "+e.Step)
		}
	}
	want := []string{
		"run_started  0", "user_message  0", "step_begun m1 1", "assistant_message m1 1", "step_begun t1.0 1", "step_ended t1.0 1 done",
		"step_begun m2 1", "assistant_message m2 1", "run_ended  0",
	}
	if got := logOf(t, conv); !slices.Equal(got, want) {
		t.Errorf("the log is\n%q, want\n%q", got, want)
	}
	if want := []string{"text_delta m1", "tool_progress t1.0"}; !slices.Equal(live, want) {
		t.Errorf("the reader saw %q live, want %q", live, want)
	}
}

// A driver that dies at any of its commits leaves a run that the next one ends, and an unsafe tool never runs twice
// where the log has its beginning.
func TestAProgramGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	for _, effect := range []event.Effect{event.EffectUnsafe, event.EffectIdempotent} {
		for after := 1; after < 9; after++ {
			t.Run(fmt.Sprint(effect, " after event ", after), func(t *testing.T) {
				t.Parallel()
				store := &journal.Memory{}
				agent, program := New("a", silentModel{}), &playedProgram{effect: effect, committed: make(chan struct{}, 100)}
				dying := &dyingStore{Memory: store, after: int64(after), committed: program.committed}
				if _, err := agent.Run(t.Context(), "go", In(Open(dying, "c")), worksIn(program)); err == nil {
					t.Fatal("the driver did not die")
				}
				before := logOf(t, Open(store, "c"))
				begun := slices.Contains(before, "step_begun t1.0 1")
				ended := slices.Contains(before, "step_ended t1.0 1 done")
				program = &playedProgram{effect: effect}
				r, err := agent.Resume(t.Context(), Open(store, "c"), worksIn(program))
				if err != nil || r.Status != event.RunCompleted || r.Text() != "Done." {
					t.Fatalf("%+v, %v, after %q", r, err, before)
				}
				log := logOf(t, Open(store, "c"))
				again := !ended && (!begun || effect == event.EffectIdempotent)
				if doubt := slices.Contains(log, "step_ended t1.0 1 in_doubt"); (program.ran == 1) != again || doubt != (begun && !ended && !again) {
					t.Errorf("the tool ran %d times after the crash, in doubt %v; the log is\n%q", program.ran, doubt, log)
				}
			})
		}
	}
}

func TestAProgramThatReportsWhatDoesNotFollowFails(t *testing.T) {
	t.Parallel()
	r, err := New("a", silentModel{}).Run(t.Context(), "go", worksIn(&playedProgram{odd: true}))
	if err == nil || r.Status != event.RunFailed {
		t.Errorf("%+v, %v", r, err)
	}
}

// dyingStore takes no commit once the log has an event with Seq after, and lets nobody release the lease.
type dyingStore struct {
	*journal.Memory
	after     int64
	committed chan struct{}
	mu        sync.Mutex
	dead      bool
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
	err := s.Memory.Commit(ctx, l, b)
	if len(b.Events) > 0 && s.committed != nil {
		s.committed <- struct{}{}
	}
	return err
}

// silentModel answers nothing.
type silentModel struct{}

func (silentModel) Info() model.Info { return model.Info{Name: "none"} }

func (silentModel) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(func(model.Chunk, error) bool) {}
}
