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
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

func TestARunWaitsInTheStoreForAnotherProcess(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	agent := func() *braid.Agent {
		return braid.New("desk", answers(asksFor("order", `{}`), says("done")),
			braid.Func("order", "Orders.", func(ctx context.Context, _ struct{}) (string, error) {
				size, err := braid.Ask[string](ctx, "Which size?")
				if err != nil {
					return "", err
				}
				note, err := braid.Ask[*string](ctx, "Any note?", tool.AskName("note"))
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("%s %v", size, note == nil), nil
			}))
	}
	first, err := agent().Run(t.Context(), "one shirt", braid.In(braid.Open(store, "shop")), braid.For("acme", "ann"))
	if err != nil || first.Stop != event.StopQuestion {
		t.Fatal(err, first.Stop)
	}

	// Another process opens the same log.
	conv := braid.Open(store, "shop")
	open, err := conv.Questions(t.Context())
	if err != nil || len(open) != 1 || open[0].Prompt != "Which size?" || string(open[0].Schema) != `{"type":"string"}` {
		t.Fatalf("the questions are %+v: %v", open, err)
	}
	// Resumed without an answer it keeps waiting.
	again, err := agent().Resume(t.Context(), conv)
	if err != nil || again.Stop != event.StopQuestion || again.Questions[0].Token != open[0].Token {
		t.Fatal(err, again.Stop)
	}
	if err := conv.Answer(t.Context(), open[0].Token, "XL"); err != nil {
		t.Fatal(err)
	}
	// A second question of the same call: the first answer is kept.
	again, err = agent().Resume(t.Context(), conv)
	if err != nil || again.Stop != event.StopQuestion || again.Questions[0].Name != "note" {
		t.Fatalf("%v, %+v", err, again.Questions)
	}
	if err := conv.Answer(t.Context(), open[0].Token, "S"); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("an answer was accepted twice: %v", err)
	}
	// Null is an answer.
	if err := conv.Answer(t.Context(), again.Questions[0].Token, nil); err != nil {
		t.Fatal(err)
	}
	last, err := agent().Resume(t.Context(), braid.Open(store, "shop"))
	if err != nil || last.Text() != "done" {
		t.Fatal(err, last.Text())
	}
	messages, _ := conv.Messages(t.Context())
	if got := brief(messages); got != "user:one shirt assistant:[c0] user:(c0 XL true) assistant:done" {
		t.Errorf("the history is %s", got)
	}
}

// A run pauses, is answered, goes on and pauses again, as often as it has to: in one call, in two calls at once
// that are answered one by one, and in a later cycle. Each time another process goes on, days later and with nothing but the
// store; it calls no model for it, keeps what has finished, and runs only what waited.
func TestARunPausesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory(journal.MemoryOptions{})
		var done []string
		models := 0
		agent := func() *braid.Agent {
			asks := func(name string, questions ...string) braid.Part {
				return braid.Func(name, "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
					var heard []string
					for i, q := range questions {
						answer, err := braid.Ask[string](ctx, q)
						if err != nil {
							return "", err
						}
						heard = append(heard, answer+" by "+tool.AnsweredBy(ctx, i))
					}
					done = append(done, name)
					return strings.Join(heard, ", "), nil
				})
			}
			m := answers(asksFor("twice", `{}`, "plain", `{}`), asksFor("left", `{}`, "right", `{}`), asksFor("late", `{}`), says("over"))
			next := m.next
			m.next = func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				models++
				return next(ctx, req)
			}
			return braid.New("desk", m, asks("twice", "first?", "second?"), asks("left", "left?"), asks("right", "right?"), asks("late", "late?"), asks("plain"))
		}
		r, err := agent().Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
		run, tokens := r.Run, map[string]bool{}
		for n, want := range []struct {
			open, done string
			models     int
		}{
			{"first?", "plain", 1},
			{"second?", "plain", 1},
			{"left? right?", "plain twice", 2},
			{"right?", "plain twice left", 2},
			{"late?", "plain twice left right", 3},
			{"", "plain twice left right late", 4},
		} {
			var open []string // two calls at once ask in any order
			slices.SortFunc(r.Questions, func(a, b braid.Question) int { return strings.Compare(a.Prompt, b.Prompt) })
			for _, q := range r.Questions {
				open = append(open, q.Prompt)
			}
			if err != nil || r.Run != run || strings.Join(open, " ") != want.open || strings.Join(done, " ") != want.done || models != want.models {
				t.Fatalf("pause %d of %s: open %q, done %q, %d calls of models, %v; want %+v", n+1, r.Run, open, done, models, err, want)
			}
			if len(r.Questions) == 0 {
				break
			}
			time.Sleep(3 * 24 * time.Hour)
			conv, q := braid.Open(store, "c"), r.Questions[0]
			if tokens[q.Token] {
				t.Fatalf("the token of %s was another question's", q.Prompt)
			}
			tokens[q.Token] = true
			if err := conv.AnswerAs(t.Context(), "ann", q.Token, "yes"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * 24 * time.Hour)
			r, err = agent().Resume(t.Context(), braid.Open(store, "c"))
			if err := conv.Answer(t.Context(), q.Token, "no"); !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%s was answered twice: %v", q.Prompt, err)
			}
		}
		if r.Text() != "over" || r.Status != event.RunCompleted {
			t.Errorf("it ends as %s with %q", r.Status, r.Text())
		}
		messages, err := braid.Open(store, "c").Messages(t.Context())
		if got := brief(messages); err != nil || got != "user:go assistant:[c0][c1] user:(c0 yes by ann, yes by ann)(c1 ) "+
			"assistant:[c0][c1] user:(c0 yes by ann)(c1 yes by ann) assistant:[c0] user:(c0 yes by ann) assistant:over" {
			t.Errorf("the history is %s, %v", got, err)
		}
	})
}

func TestAnAnswerOfAnotherTypeIsRefused(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("desk", answers(asksFor("order", `{}`), says("done")),
		braid.Func("order", "Orders.", func(ctx context.Context, _ struct{}) (int, error) {
			return braid.Ask[int](ctx, "How many?")
		}))
	result, err := agent.Run(t.Context(), "shirts", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	token := result.Questions[0].Token
	if _, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: token, Value: "many"})); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("it gave %v", err)
	}
	result, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: token, Value: 3}))
	if err != nil || result.Text() != "done" || result.Metrics.ToolErrors != 0 {
		t.Errorf("%v, %q, %+v", err, result.Text(), result.Metrics)
	}
}

func TestAWaitingRunCanBeCancelled(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("desk", answers(asksFor("order", `{}`, "add", `{"a":1,"b":2}`), says("done")),
		braid.Func("add", "Adds.", add),
		braid.Func("order", "Orders.", func(ctx context.Context, _ struct{}) (int, error) {
			return braid.Ask[int](ctx, "How many?")
		}))
	if _, err := agent.Run(t.Context(), "shirts", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if err := conv.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Resume(t.Context(), conv); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("got %v", err)
	}
	messages, _ := conv.Messages(t.Context())
	if got := brief(messages); got != "user:shirts assistant:[c0][c1] user:(c0 The tool call was cancelled before it gave a result.)(c1 3)" {
		t.Errorf("the history is %s", got)
	}
	if open, err := conv.Questions(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("questions are open: %v, %v", open, err)
	}
}

func TestTheSameKeyIsTheSameRun(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	model := answers(asksFor("add", `{"a":1,"b":2}`), says("3"))
	agent := braid.New("a", model, braid.Func("add", "Adds.", add))
	first, err := agent.Run(t.Context(), "1+2", braid.In(conv), braid.Key("k"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), "more", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var again braid.Result
	var kinds []event.Kind
	for e, err := range agent.Stream(t.Context(), "1+2", braid.In(conv), braid.Key("k"), braid.Into(&again)) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Body.Kind())
	}
	if model.calls.Load() != 4 || again.Run != first.Run || again.Text() != "3" || again.Usage != first.Usage || again.Metrics.ToolCalls != 1 {
		t.Errorf("%d model calls, %+v", model.calls.Load(), again)
	}
	if kinds[0] != event.KindRunStarted || kinds[len(kinds)-1] != event.KindRunEnded || len(kinds) != 9 {
		t.Errorf("the replay is %v", kinds)
	}
	if _, err := agent.Run(t.Context(), "other", braid.In(conv), braid.Key("k")); !errors.Is(err, event.ErrConflict) {
		t.Errorf("the same key for another input gave %v", err)
	}
}

func TestAReaderThatPanicsReleasesTheRun(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("a", answers(says("hi")))
	func() {
		defer func() { _ = recover() }()
		for _, err := range agent.Stream(t.Context(), "hi", braid.In(conv)) {
			panic(err)
		}
	}()
	result, err := agent.Resume(t.Context(), conv)
	if err != nil || result.Text() != "hi" {
		t.Errorf("the run could not be taken up: %v", err)
	}
}

func TestAnotherAgentCannotResume(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	ask := braid.Func("order", "Orders.", func(ctx context.Context, _ struct{}) (int, error) {
		return braid.Ask[int](ctx, "How many?")
	})
	desk := braid.New("desk", answers(asksFor("order", `{}`), says("done")), ask)
	result, err := desk.Run(t.Context(), "shirts", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := braid.New("other", answers(says("?"))).Resume(t.Context(), conv); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	// It keeps waiting, and nothing is held.
	if _, err := desk.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: 2})); err != nil {
		t.Error(err)
	}
}

func TestParallelAgentsStreamAtTheSameTime(t *testing.T) {
	t.Parallel()
	// Each of the two workers waits in the middle of its answer until the other
	// one speaks, so the run only ends if they really go on side by side.
	var meet sync.WaitGroup
	meet.Add(2)
	worker := func(name string) *braid.Agent {
		return braid.New(name, &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				for i, c := range says(name + " is done") {
					if !yield(c, nil) {
						return
					}
					if i == 0 {
						meet.Done()
						meet.Wait()
					}
				}
			}
		}})
	}
	lead := braid.New("lead", answers(asksFor("left", `{"input":"go"}`, "right", `{"input":"go"}`), says("both")),
		braid.AsTool(worker("left"), "left"), braid.AsTool(worker("right"), "right"))
	heard := map[string]string{}
	var n int64
	var result braid.Result
	for e, err := range lead.Stream(t.Context(), "go", braid.Into(&result)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Live() {
			n++
			if e.N != n || e.Epoch == 0 {
				t.Errorf("live event %d has the number %d in epoch %d", n, e.N, e.Epoch)
			}
		}
		if b, ok := e.Body.(*event.TextDelta); ok {
			heard[e.Author] += b.Text
		}
	}
	if heard["left"] != "left is done" || heard["right"] != "right is done" || result.Text() != "both" {
		t.Errorf("heard %v, result %q", heard, result.Text())
	}
	if result.Usage.Total != 70 {
		t.Errorf("usage is %+v", result.Usage)
	}
}

func TestKeysOfTwoConversationsDiffer(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	agent := braid.New("a", answers(asksFor("pay", `{}`), says("ok")),
		braid.Func("pay", "Pays.", func(ctx context.Context, _ struct{}) (string, error) {
			keys[tool.CallOf(ctx).Key()] = true
			return "paid", nil
		}))
	for range 3 {
		if _, err := agent.Run(t.Context(), "pay"); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 3 {
		t.Errorf("three conversations share keys: %v", keys)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	agent := braid.New("calc", answers(asksFor("add", `{"a":3,"b":5}`), says("8")), braid.Func("add", "Adds.", add))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			conv := braid.NewConversation()
			for range 5 {
				if r, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil || r.Text() != "8" {
					t.Errorf("got %v, %q", err, r.Text())
				}
				if _, err := conv.Messages(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Events are in the order of their numbers, and not of a clock that may stand still, as it does here, or be set back.
func TestEventsAreInOrderWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := braid.New("a", answers(asksFor("add", `{"a":1,"b":2}`, "add", `{"a":2,"b":2}`, "add", `{"a":3,"b":2}`), says("done")),
			braid.Func("add", "Adds.", add))
		conv := braid.NewConversation()
		begun := time.Now()
		for _, say := range []string{"go", "again"} {
			if _, err := agent.Run(t.Context(), say, braid.In(conv)); err != nil {
				t.Fatal(err)
			}
		}
		last := int64(0)
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if last++; e.Seq != last || !e.Time.Equal(begun) {
				t.Errorf("event %d has the number %d, at %v", last, e.Seq, e.Time.Sub(begun))
			}
		}
		messages, err := conv.Messages(t.Context())
		const turn = " assistant:[c0][c1][c2] user:(c0 3)(c1 4)(c2 5) assistant:done"
		const want = "user:go" + turn + " user:again" + turn
		if got := brief(messages); err != nil || got != want || last < 10 {
			t.Errorf("the history is %s, want %s, of %d events: %v", got, want, last, err)
		}
	})
}
