package braid_test

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// A run that is cancelled while a summary is asked for ends at once, or after the grace period where the model does
// not stop, and the next turn works.
func TestCancelledOverASummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaf    bool
		outcome event.Outcome
	}{
		"a model that stops":         {false, event.OutcomeCancelled},
		"a model that does not stop": {true, event.OutcomeStraggler},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				var hang atomic.Bool
				m := &script{}
				m.next = func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					if !isSummary(req) {
						return chunks(counted("yes", 900))
					}
					if !hang.Load() {
						return chunks(says("in short"))
					}
					return func(yield func(model.Chunk, error) bool) {
						<-ctx.Done()
						if c.deaf {
							<-release
						}
						yield(model.Chunk{}, ctx.Err())
					}
				}
				a := braid.New("a", m, braid.Manage(braid.Management{Context: 1000, By: braid.Summarize{Recent: 1}}))
				conv := chat(t, a, 1)
				hang.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				result, err := a.Run(ctx, "go", braid.In(conv))
				if event.KindOf(err) != event.ErrTimeout || result.Status != event.RunCancelled || time.Since(begun) > time.Minute+2100*time.Millisecond {
					t.Errorf("it ends as %s after %v: %v", result.Status, time.Since(begun), err)
				}
				log := logOfConversation(t, conv)
				if compactions(log) != "" || openSteps(log) != "" {
					t.Errorf("%s, open: %s", compactions(log), openSteps(log))
				}
				if got := endOfSummary(log); got != c.outcome {
					t.Errorf("the summary ended as %q, want %q", got, c.outcome)
				}
				hang.Store(false)
				if result, err = a.Run(t.Context(), "and now?", braid.In(conv)); err != nil || result.Metrics.Compactions != 1 {
					t.Error(result, err)
				}
			})
		})
	}
}

// endOfSummary is how the first summary that was asked for ended.
func endOfSummary(log []*event.Event) event.Outcome {
	for _, e := range log {
		if end, ok := e.Body.(*event.StepEnded); ok && end.Step == event.StepCompaction {
			return end.Outcome
		}
	}
	return ""
}

// openSteps lists what has begun and not ended.
func openSteps(log []*event.Event) string {
	open := map[string]bool{}
	for _, e := range log {
		switch e.Body.(type) {
		case *event.StepBegun:
			open[e.Run+e.Step] = true
		case *event.StepEnded, *event.AssistantMessage:
			delete(open, e.Run+e.Step)
		}
	}
	var list []string
	for name := range open {
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// A run that dies anywhere around its compactions is taken over, and its model is shown the same in
// the end.
func TestACrashAroundACompaction(t *testing.T) {
	t.Parallel()
	const cycles = 6
	play := func(store journal.Store, begin func(*braid.Agent, *braid.Conversation) (*braid.Result, error)) (*braid.Result, string, int, error) {
		sums := 0
		m := &recorder{info: model.Info{ContextWindow: 1000}}
		m.answer = func(_ int, req *model.Request) iter.Seq2[model.Chunk, error] {
			switch {
			case isSummary(req):
				sums++
				return chunks(says("in short"))
			case req.Cycle < cycles:
				list := asksFor("add", `{"a":`+strconv.Itoa(req.Cycle)+`,"b":2}`)
				list[len(list)-2].Usage = &event.Usage{Input: 800, Output: 1, Total: 801}
				return chunks(list)
			}
			return chunks(says("done"))
		}
		a := braid.New("a", m, braid.Func("add", "Adds.", add, tool.Pure()),
			braid.Manage(braid.Management{By: braid.Summarize{Recent: 2}}))
		conv := braid.Open(store, "c")
		result, err := begin(a, conv)
		last := ""
		if n := len(m.seen); n > 0 {
			last = brief(m.seen[n-1].Messages)
		}
		for _, req := range m.seen {
			if err := braid.ValidMessages(req.Messages); err != nil {
				t.Error(err)
			}
		}
		return result, last, sums, err
	}
	whole := &journal.Memory{}
	_, want, sums, err := play(whole, func(a *braid.Agent, c *braid.Conversation) (*braid.Result, error) {
		return a.Run(t.Context(), "the task", braid.In(c))
	})
	log := logOfConversation(t, braid.Open(whole, "c"))
	if err != nil || sums < 2 || !strings.Contains(want, "the task") {
		t.Fatalf("%d summaries, %s, %v", sums, want, err)
	}
	played := 0
	for cut := 1; cut < len(log); cut++ {
		if _, over := log[cut-1].Body.(*event.RunEnded); over {
			continue
		}
		store := &journal.Memory{}
		row, err := store.Admit(t.Context(), journal.Run{
			ID: log[0].Run, Conversation: "c", Agent: "a", Turn: 1,
			Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "the task"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := store.Acquire(t.Context(), row.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Commit(t.Context(), opened.Lease, journal.Batch{Events: log[:cut], Release: true}); err != nil {
			t.Fatalf("cut after event %d: %v", cut, err)
		}
		played++
		result, last, _, err := play(store, func(a *braid.Agent, c *braid.Conversation) (*braid.Result, error) { return a.Resume(t.Context(), c) })
		if err != nil || result.Text() != "done" || cut < len(log)-2 && last != want {
			t.Errorf("cut after event %d, %s: %v\ngot  %s\nwant %s", cut, log[cut-1].Body.Kind(), err, last, want)
		}
		resumed := logOfConversation(t, braid.Open(store, "c"))
		if openSteps(resumed) != "" || strings.Count(compactions(resumed), "limit") != strings.Count(compactions(log), "limit") {
			t.Errorf("cut after event %d: %s open, %s, want %s", cut, openSteps(resumed), compactions(resumed), compactions(log))
		}
		var used event.Usage
		for _, e := range resumed {
			switch b := e.Body.(type) {
			case *event.AssistantMessage:
				used = used.Add(b.Usage)
			case *event.StepEnded:
				used = used.Add(b.Usage)
			}
		}
		if result != nil && result.Usage != used {
			t.Errorf("cut after event %d: the run used %+v, its steps %+v", cut, result.Usage, used)
		}
	}
	if played < 20 {
		t.Errorf("%d crashes", played)
	}
}

// What is pinned stays, and what was compacted before is not counted again: one compaction a limit.
func TestPinnedMessagesStay(t *testing.T) {
	t.Parallel()
	llm := &recorder{answer: func(int, *model.Request) iter.Seq2[model.Chunk, error] { return chunks(says("answer")) }}
	a := braid.New("a", llm, braid.Manage(braid.Management{By: braid.SlidingWindow(6), Pin: func(m event.Message) bool {
		return strings.Contains(m.Text(), "question 2")
	}}))
	conv := chat(t, a, 12)
	for i, req := range llm.seen[1:] {
		if got := brief(req.Messages); strings.Count(got, "question 2") != 1 || len(req.Messages) > 7 {
			t.Errorf("call %d has %s", i+2, got)
		}
	}
	if !strings.Contains(compactions(logOfConversation(t, conv)), "keep [") {
		t.Error("nothing is kept")
	}
}

// The provider's count of before a compaction says nothing about what is shown after it.
func TestAfterACompactionTheCountBeginsAnew(t *testing.T) {
	t.Parallel()
	m := &recorder{info: model.Info{ContextWindow: 1000}}
	m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
		switch {
		case isSummary(req):
			return chunks(says("in short"))
		case n == 3:
			return chunks(counted("yes", 900))
		}
		return chunks(says("yes")) // 15 tokens
	}
	// The call after the compaction fails and is asked again in the next run, without an answer between.
	fail := false
	plain := m.answer
	m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
		if fail && !isSummary(req) {
			return failing(&event.Error{Kind: event.ErrModelAuth, Message: "no"})
		}
		return plain(n, req)
	}
	a := braid.New("a", m, braid.Manage(braid.Management{By: braid.Summarize{Recent: 1}}))
	conv := chat(t, a, 4)
	fail = true
	if _, err := a.Run(t.Context(), "go", braid.In(conv)); err == nil {
		t.Fatal("it did not fail")
	}
	fail = false
	for i := range 3 {
		if _, err := a.Run(t.Context(), fmt.Sprint("and ", i), braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	if got := compactions(logOfConversation(t, conv)); strings.Count(got, "limit") != 1 {
		t.Errorf("compactions: %s", got)
	}
}

// An agent reads back what its own work was given, and nothing of another agent's.
func TestOneAgentDoesNotReadWhatAnotherWasGiven(t *testing.T) {
	t.Parallel()
	dump := braid.Func("dump", "Gives much.", func(context.Context, struct{}) (string, error) { return strings.Repeat("secret ", 5000), nil })
	child := braid.New("child", answers(asksFor("dump", "{}"), says("ok")), dump, braid.Offload(braid.Offloading{}))
	var got []string
	boss := &recorder{}
	boss.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
		switch {
		case n == 0:
			return chunks(asksFor("child", `{"input":"go"}`))
		case n > 1:
			got = append(got, event.TextOf(lastResults(req)[0].Content))
		}
		if n > 20 {
			return chunks(says("done"))
		}
		return chunks(asksFor("read_result", fmt.Sprintf(`{"result":%d}`, n)))
	}
	if _, err := braid.New("boss", boss, braid.AsTool(child, "works"), braid.Offload(braid.Offloading{})).Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for i, text := range got {
		if strings.Contains(text, "secret") {
			t.Errorf("result %d is read: %.60s", i+1, text)
		}
	}
	if len(got) < 15 {
		t.Errorf("%d tries", len(got))
	}
}
