package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// flaky is a model that fails at one of its calls, once, and follows its steps otherwise.
type flaky struct {
	failAt int
	steps  []func() []model.Chunk
	failed bool
	seen   []string
}

func (*flaky) Info() model.Info { return model.Info{Name: "test:flaky"} }

func (m *flaky) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.seen = append(m.seen, brief(req.Messages))
	done := 0 // steps whose results the request holds
	for _, msg := range req.Messages {
		if msg.Role == event.RoleAssistant {
			done++
		}
	}
	if done == m.failAt && !m.failed {
		m.failed = true
		return failing(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
	}
	return chunks(m.steps[min(done, len(m.steps)-1)]())
}

func steps(list ...[]model.Chunk) (all []func() []model.Chunk) {
	for _, c := range list {
		all = append(all, func() []model.Chunk { return c })
	}
	return all
}

// settled compares what the handle knows of a conversation with what its log says.
func settled(t *testing.T, store journal.Store, conv *braid.Conversation) string {
	t.Helper()
	warm, err := conv.Messages(t.Context())
	cold, coldErr := braid.Open(store, conv.ID()).Messages(t.Context())
	if err != nil || coldErr != nil || brief(warm) != brief(cold) {
		t.Errorf("the handle knows\n%s (%v), the log says\n%s (%v)", brief(warm), err, brief(cold), coldErr)
	}
	return brief(cold)
}

// A failed run is continued whatever it was made of: finished agents and tools are not repeated, the answer has the
// form that was asked for, and another agent may go on.
func TestFailedRunsOfEveryFormAreContinued(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // tools run at once
	calls := map[string]int{}
	count := func(name string) *braid.FuncTool {
		return braid.Func(name, "", func(context.Context, nothing) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[name]++
			return name + " done", nil
		})
	}
	for _, c := range []struct {
		name  string
		steps [][]model.Chunk
		fail  int
		parts func() []braid.Part
		// later is the agent that goes on; nil means the same.
		later func(m braid.Model) *braid.Agent
		// want is how often each tool was called, output and text the result's.
		want   map[string]int
		output string
		text   string
	}{
		{
			name: "two tools at once", steps: [][]model.Chunk{asksFor("a", "{}", "b", "{}"), says("both")}, fail: 1,
			parts: func() []braid.Part { return []braid.Part{count("a"), count("b")} },
			want:  map[string]int{"a": 1, "b": 1}, text: "both",
		},
		{
			name: "at its first call", steps: [][]model.Chunk{says("hello")}, fail: 0,
			parts: func() []braid.Part { return nil }, want: map[string]int{}, text: "hello",
		},
		{
			name: "a finished agent", steps: [][]model.Chunk{asksFor("child", `{"input":"go"}`), says("so")}, fail: 1,
			parts: func() []braid.Part {
				return []braid.Part{braid.AsTool(braid.New("child", answers(asksFor("below", "{}"), says("found")), count("below")), "")}
			},
			want: map[string]int{"below": 1}, text: "so",
		},
		{
			name: "a structured answer", steps: [][]model.Chunk{asksFor("a", "{}"), says(`{"n":7}`)}, fail: 1,
			parts: func() []braid.Part {
				return []braid.Part{count("a"), braid.OutputSchema(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`))}
			},
			want: map[string]int{"a": 1}, output: `{"n":7}`, text: `{"n":7}`,
		},
		{
			name: "by another version of the agent", steps: [][]model.Chunk{asksFor("a", "{}"), asksFor("new", "{}"), says("so")}, fail: 1,
			parts: func() []braid.Part { return []braid.Part{count("a")} },
			later: func(m braid.Model) *braid.Agent {
				return braid.New("root", m, count("new"), braid.Instructions("Be brief."))
			},
			want: map[string]int{"a": 1, "new": 1}, text: "so",
		},
	} {
		for name, store := range stores(t) {
			clear(calls)
			llm := &flaky{failAt: c.fail, steps: steps(c.steps...)}
			agent := braid.New("root", llm, c.parts()...)
			conv := braid.Open(store, "talk")
			first, err := agent.Run(t.Context(), "go", braid.In(conv))
			if !errors.Is(err, event.ErrModelAuth) {
				t.Fatalf("%s: %v", c.name, err)
			}
			settled(t, store, conv)
			if run, err := conv.Retryable(t.Context()); err != nil || run != first.Run {
				t.Errorf("%s, %s: %q can be continued: %v", c.name, name, run, err)
			}
			if c.later != nil {
				agent = c.later(llm)
			}
			r, err := agent.Resume(t.Context(), conv)
			if err != nil || r.Text() != c.text || string(r.Output) != c.output {
				t.Fatalf("%s, %s: %q %s: %v", c.name, name, r.Text(), r.Output, err)
			}
			for tool, n := range c.want {
				if calls[tool] != n {
					t.Errorf("%s, %s: %s was called %d times, want %d", c.name, name, tool, calls[tool], n)
				}
			}
			if got := settled(t, store, conv); strings.Contains(got, "failed") || strings.Count(got, "user:go") != 1 {
				t.Errorf("%s, %s: later runs see %s", c.name, name, got)
			}
			if run, err := conv.Retryable(t.Context()); err != nil || run != "" {
				t.Errorf("%s, %s: a complete run can be continued: %q %v", c.name, name, run, err)
			}
		}
	}
}

// A run that was shortened before it failed is continued from the summary.
func TestAShortenedRunIsContinued(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		for name, store := range stores(t) {
			reads, failed := 0, false
			var seen []string
			parts := []braid.Part{
				braid.Manage(braid.Management{By: braid.SlidingWindow(6)}),
				braid.Func("read", "", func(context.Context, nothing) (string, error) {
					reads++
					return fmt.Sprintf("page %d", reads), nil
				}),
			}
			if forgets {
				parts = append(parts, braid.ForgetFailed())
			}
			agent := braid.New("reader", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				seen = append(seen, brief(req.Messages))
				switch {
				case reads == 8 && !failed:
					failed = true
					return failing(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
				case reads < 10:
					return chunks(asksFor("read", "{}"))
				}
				return chunks(says("done"))
			}}, parts...)
			conv := braid.Open(store, "talk")
			if _, err := agent.Run(t.Context(), "before", braid.In(conv)); err == nil {
				t.Fatal("it did not fail")
			}
			settled(t, store, conv)
			at := len(seen) - 1
			r, err := agent.Resume(t.Context(), conv)
			if err != nil || r.Text() != "done" || reads != 10 {
				t.Fatalf("%s, forgets %v: %q after %d reads: %v", name, forgets, r.Text(), reads, err)
			}
			if seen[at] != seen[at+1] {
				t.Errorf("%s, forgets %v: the failed call showed\n%s\nand its repeat\n%s", name, forgets, seen[at], seen[at+1])
			}
			settled(t, store, conv)
		}
	}
}

// A run that a limit or its deadline ended before its answer is continued; one that a user stopped, or that said all it
// wanted to, is none that Retryable names.
func TestRunsThatALimitEndedAreContinued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			limits braid.Limits
			stop   bool
			want   bool
		}{
			"cycles":   {limits: braid.Limits{Cycles: 2}, want: true},
			"deadline": {limits: braid.Limits{Active: time.Minute}, want: true},
			"a user":   {stop: true},
			"nothing":  {},
		} {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			reads := 0
			m := &script{next: func(mctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				n := strings.Count(brief(req.Messages), "page")
				if n == 2 && c.limits.Active > 0 && reads == 2 {
					<-mctx.Done()
					return failing(mctx.Err())
				}
				if n == 2 && c.stop {
					stop()
				}
				if n < 4 {
					return chunks(asksFor("read", "{}"))
				}
				return chunks(says("done"))
			}}
			read := braid.Func("read", "", func(context.Context, nothing) (string, error) {
				reads++
				return "page", nil
			})
			store := &journal.Memory{}
			conv := braid.Open(store, "talk")
			first, _ := braid.New("a", m, read, braid.Limit(c.limits)).Run(ctx, "go", braid.In(conv))
			got, err := braid.Open(store, "talk").Retryable(t.Context())
			if err != nil || (got == first.Run) != c.want {
				t.Errorf("%s: %q can be continued after %s: %v", name, got, first.Why, err)
			}
			if !c.want {
				continue
			}
			reads += 10
			r, err := braid.New("a", m, read).Resume(t.Context(), conv)
			if err != nil || r.Text() != "done" || reads != 14 {
				t.Errorf("%s: %q after %d reads: %v", name, r.Text(), reads-10, err)
			}
		}
	})
}

// Where the process died during an unsafe tool and the run then failed, the continued run does not repeat the tool: its model is
// told that the call is in doubt, and so is the next run's.
func TestACallInDoubtIsNotRepeatedByAContinuedRun(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &deadly{Memory: journal.NewMemory(journal.MemoryOptions{})}
			pays, fails := 0, 1
			var seen string
			agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				seen = brief(req.Messages)
				switch {
				case !strings.Contains(seen, "In doubt"):
					return chunks(asksFor("pay", "{}"))
				case fails > 0:
					fails--
					return failing(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
				}
				return chunks(says("I must look first"))
			}}, braid.Func("pay", "", func(context.Context, nothing) (string, error) {
				pays++
				store.dead = true
				return "paid", nil
			}))
			if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
			work := braid.Work{ForgetFailed: forget}
			if _, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", work); err == nil {
				t.Fatal("the process lived")
			}
			store.dead = false
			time.Sleep(2 * journal.DefaultTerm)
			if r, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", work); err != nil || r.Status != event.RunFailed {
				t.Fatalf("%v: %v", r.Status, err)
			}
			r, err := agent.Resume(t.Context(), braid.Open(store, "c"))
			if err != nil || r.Text() != "I must look first" || pays != 1 || strings.Count(seen, "In doubt") != 1 {
				t.Errorf("forget %v: %q after %d payments: %v; the model saw %s", forget, r.Text(), pays, err, seen)
			}
		})
	}
}

// A run that ended because its processes died is kept or forgotten like any other failed run, and is continued behind
// the call that may have killed them: that one is not made again.
func TestAPoisonedRunIsContinued(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &deadly{Memory: journal.NewMemory(journal.MemoryOptions{})}
			kills, reads := 0, 0
			var seen string
			agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				switch seen = brief(req.Messages); {
				case strings.Contains(seen, "was cancelled"):
					return chunks(says("it does not work"))
				case strings.Contains(seen, "page"):
					return chunks(asksFor("kill", "{}"))
				}
				return chunks(asksFor("read", "{}"))
			}}, braid.Func("read", "", func(context.Context, nothing) (string, error) {
				reads++
				return "page", nil
			}), braid.Func("kill", "", func(context.Context, nothing) (string, error) {
				kills++
				store.dead = true
				return "", nil
			}, tool.Pure()))
			if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				_, _ = agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{ForgetFailed: forget})
				store.dead = false
				time.Sleep(2 * journal.DefaultTerm)
			}
			log := logOfConversation(t, braid.Open(store, "c"))
			end, ok := log[len(log)-1].Body.(*event.RunEnded)
			if !ok || event.KindOf(errOf(end)) != event.ErrPoisoned || end.Keep == forget {
				t.Fatalf("forget %v: it ends with %+v", forget, log[len(log)-1].Body)
			}
			later, err := braid.Open(store, "c").Messages(t.Context())
			if err != nil || strings.Contains(brief(later), "page") == forget || forget && !strings.Contains(brief(later), "read (call") {
				t.Errorf("forget %v: later runs see %s: %v", forget, brief(later), err)
			}
			r, err := agent.Resume(t.Context(), braid.Open(store, "c"))
			if err != nil || r.Text() != "it does not work" || kills != 3 || reads != 1 {
				t.Errorf("forget %v: %q after %d kills and %d reads: %v; the model saw %s", forget, r.Text(), kills, reads, err, seen)
			}
		})
	}
}
