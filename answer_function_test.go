package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// asker is an agent whose tool asks for a number as often as the model calls it, and the model's last words are the results.
func asker(calls int, parts ...braid.Part) *braid.Agent {
	var pairs []string
	for range calls {
		pairs = append(pairs, "ask", "{}")
	}
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		var texts []string
		for _, r := range lastResults(req) {
			texts = append(texts, event.TextOf(r.Content))
		}
		if len(texts) == 0 {
			return chunks(asksFor(pairs...))
		}
		return chunks(says(strings.Join(texts, " ")))
	}}
	return braid.New("a", m, append(parts, braid.Func("ask", "Asks.", func(ctx context.Context, _ nothing) (int, error) {
		return braid.Ask[int](ctx, "How many?")
	}))...)
}

// A function answers what the run asks, one question after another, and the run goes on by itself.
func TestAFunctionAnswersQuestions(t *testing.T) {
	t.Parallel()
	var at, n atomic.Int64
	r, err := asker(3).Run(t.Context(), "go", braid.WithAnswers(func(_ context.Context, q braid.Question) (any, error) {
		if at.Add(1) > 1 {
			t.Error("two questions at once")
		}
		defer at.Add(-1)
		if q.Prompt != "How many?" || q.Token == "" || q.Step == "" || q.Tool != "ask" {
			t.Errorf("it is asked %+v", q)
		}
		return n.Add(1), nil
	}))
	if err != nil || n.Load() != 3 || r.Status != event.RunCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	got := strings.Fields(r.Text())
	if slices.Sort(got); strings.Join(got, " ") != "1 2 3" {
		t.Errorf("the tools got %q", got)
	}
}

// So are approvals, the questions of agents below, and those of a run that waits already.
func TestAFunctionAnswersEveryKindOfQuestion(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	child := braid.New("child", answers(asksFor("add", `{"a":1,"b":2}`), says("3")), braid.Func("add", "Adds.", add),
		braid.Permit(braid.Permissions{Ask: []string{"add"}}))
	agent := braid.New("root", answers(asksFor("child", `{"input":"go"}`), says("done")), braid.AsTool(child, "Works."))
	r, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
	if err != nil || r.Status != event.RunWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	var asked []event.QuestionKind
	yes := braid.WithAnswers(func(_ context.Context, q braid.Question) (any, error) {
		asked = append(asked, q.Ask)
		return true, nil
	})
	var seqs []int64
	for e, err := range agent.ResumeStream(t.Context(), braid.Open(store, "c"), yes, braid.Into(r)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq > 0 {
			seqs = append(seqs, e.Seq)
		}
	}
	if r.Text() != "done" || len(asked) != 1 || asked[0] != event.AskApproval {
		t.Errorf("%q, asked %v", r.Text(), asked)
	}
	for i := 1; i < len(seqs); i++ {
		if seqs[i] != seqs[i-1]+1 {
			t.Errorf("the stream has the events %v", seqs)
			break
		}
	}
}

// A function is asked while the run's other tools work.
func TestAFunctionAnswersBesideTools(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	m := answers(asksFor("slow", "{}", "ask", "{}"), says("done"))
	agent := braid.New("a", m,
		braid.Func("slow", "Waits.", func(ctx context.Context, _ nothing) (string, error) {
			select {
			case <-answered:
				return "ok", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
		braid.Func("ask", "Asks.", func(ctx context.Context, _ nothing) (bool, error) { return braid.Ask[bool](ctx, "Sure?") }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := agent.Run(ctx, "go", braid.WithAnswers(func(context.Context, braid.Question) (any, error) {
		close(answered)
		return true, nil
	}))
	if err != nil || r.Text() != "done" || r.Metrics.ToolErrors > 0 {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// A function that cannot answer leaves the run waiting, with its error beside the result; what it answered counts.
func TestAFunctionThatCannotAnswer(t *testing.T) {
	t.Parallel()
	ended := errors.New("nobody is there")
	for name, c := range map[string]struct {
		bad  func() (any, error)
		says string
		kind event.ErrorKind
	}{
		"an error":     {func() (any, error) { return nil, ended }, "has no answer", event.ErrConflict},
		"an own error": {func() (any, error) { return nil, &event.Error{Kind: event.ErrTimeout, Message: "too late"} }, "too late", event.ErrTimeout},
		"a panic":      {func() (any, error) { panic("oh") }, "panicked", event.ErrInternal},
		"another type": {func() (any, error) { return "seven", nil }, "answer", event.ErrInvalid},
		"no JSON":      {func() (any, error) { return func() {}, nil }, "answer", event.ErrInvalid},
		"a typed nil":  {func() (any, error) { return nil, (*event.Error)(nil) }, "", event.ErrInternal},
	} {
		agent, conv, n := asker(2), braid.NewConversation(), 0
		r, err := agent.Run(t.Context(), "go", braid.In(conv), braid.WithAnswers(func(context.Context, braid.Question) (any, error) {
			if n++; n == 1 {
				return c.bad()
			}
			return 5, nil
		}))
		if event.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) || n != 2 {
			t.Errorf("%s: %v after %d questions, want %s", name, err, n, c.kind)
		}
		if name == "an error" && !errors.Is(err, ended) {
			t.Errorf("the function's error is lost: %v", err)
		}
		if r.Status != event.RunWaiting || len(r.Questions) != 1 {
			t.Errorf("%s: the run is %s with %d questions", name, r.Status, len(r.Questions))
			continue
		}
		r, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: 4}))
		if err != nil || !strings.Contains(r.Text(), "4") || !strings.Contains(r.Text(), "5") {
			t.Errorf("%s: then %q, %v", name, r.Text(), err)
		}
	}
}

// A run that is left while the function works keeps waiting. A function that does not stop holds nobody up.
func TestAFunctionThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"it stops": false, "it does not": true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			agent, conv := asker(1, braid.Limit(braid.Limits{Grace: time.Second})), braid.NewConversation()
			begun := time.Now()
			r, err := agent.Run(ctx, "go", braid.In(conv), braid.WithAnswers(func(ctx context.Context, _ braid.Question) (any, error) {
				time.Sleep(time.Minute)
				cancel()
				if !deaf {
					<-ctx.Done()
					return 7, nil
				}
				<-release
				return 7, nil
			}))
			took := time.Since(begun) - time.Minute
			if !errors.Is(err, event.ErrCancelled) || r.Status != event.RunWaiting || took > time.Second || deaf != (took == time.Second) {
				t.Errorf("%s: %s, %v after %s", name, r.Status, err, took)
			}
			close(release)
			synctest.Wait()
			open, err := conv.Questions(t.Context())
			if err != nil || len(open) != 1 {
				t.Errorf("%s: %d open questions, %v", name, len(open), err)
			}
		})
	}
}

// A reader that leaves ends the function too.
func TestAReaderLeavesWhileAFunctionAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped, begun := false, make(chan struct{})
		for e, err := range asker(1).Stream(t.Context(), "go", braid.WithAnswers(func(ctx context.Context, _ braid.Question) (any, error) {
			close(begun)
			<-ctx.Done()
			stopped = true
			return nil, ctx.Err()
		})) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Body.Kind() == event.KindAsked {
				<-begun
				break
			}
		}
		if !stopped {
			t.Error("the function goes on")
		}
	})
}

// An answer that came from elsewhere counts, and the function's own is dropped.
func TestSomebodyElseAnswersFirst(t *testing.T) {
	t.Parallel()
	agent, conv := asker(1), braid.NewConversation()
	var once sync.Once
	r, err := agent.Run(t.Context(), "go", braid.In(conv), braid.WithAnswers(func(ctx context.Context, q braid.Question) (any, error) {
		once.Do(func() {
			if err := conv.Answer(ctx, q.Token, 1); err != nil {
				t.Error(err)
			}
		})
		return 2, nil
	}))
	if err != nil && !errors.Is(err, event.ErrConflict) {
		t.Fatal(err)
	}
	if r.Status == event.RunWaiting {
		r, err = agent.Resume(t.Context(), conv)
	}
	if err != nil || r.Text() != "1" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}
