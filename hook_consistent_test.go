package braid_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

func TestAHooksRetryDoesNotUseUpTheModelsPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := callsOf(func() (string, error) {
			switch calls.Add(1) {
			case 1:
				return "draft", nil
			case 2:
				return "", &event.Error{Kind: event.ErrThrottled, Message: "busy"}
			}
			return "fine", nil
		})
		start := time.Now()
		a := braid.New("a", m, braid.Retries(braid.Retry{Attempts: 2, Base: 4 * time.Second, Max: time.Minute, Exact: true}),
			braid.On(func(_ context.Context, e *hook.AfterModel) error {
				e.Retry = e.Message != nil && event.TextOf(e.Message.Content) == "draft"
				return nil
			}))
		r, err := a.Run(t.Context(), "hi")
		if err != nil || r.Text() != "fine" || calls.Load() != 3 {
			t.Fatalf("got %q, %v after %d calls", r.Text(), err, calls.Load())
		}
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("the policy's first wait was %v, want 4s", took)
		}
	})
}

func callsOf(f func() (string, error)) braid.Model {
	return &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		text, err := f()
		if err != nil {
			return breaks(nil, err)
		}
		return chunks(says(text))
	}}
}

func TestGoOnPassesTheHooksBeforeTheRunAgain(t *testing.T) {
	t.Parallel()
	var seen []string
	a := braid.New("a", callsOf(func() (string, error) { return "ok", nil }),
		braid.On(func(_ context.Context, e *hook.BeforeRun) error {
			text := event.TextOf(e.Input[0].Content)
			seen = append(seen, text)
			switch text {
			case "more":
				e.Input = []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "changed"}}}}
			case "close":
				e.Cancel = "closed"
			}
			return nil
		}),
		braid.On(func(_ context.Context, e *hook.AfterRun) error {
			if next := []string{"more", "close"}; e.Rounds < len(next) {
				e.GoOn = []event.Block{&event.Text{Text: next[e.Rounds]}}
			}
			return nil
		}))
	conv := braid.NewConversation()
	r, err := a.Run(t.Context(), "first", braid.In(conv))
	if err != nil || r.Text() != "closed" {
		t.Fatalf("got %q, %v", r.Text(), err)
	}
	if want := []string{"first", "more", "close"}; !slices.Equal(seen, want) {
		t.Errorf("the hook saw %q, want %q", seen, want)
	}
	var users []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.UserMessage); ok {
			users = append(users, event.TextOf(b.Content))
		}
	}
	if want := []string{"first", "changed", "close"}; !slices.Equal(users, want) {
		t.Errorf("the log has %q, want %q", users, want)
	}
}

func TestACallThatAHookCancelsKeepsItsWords(t *testing.T) {
	t.Parallel()
	for name, cancels := range map[string]braid.Part{
		"one call": braid.On(func(_ context.Context, e *hook.BeforeTool) error { e.Cancel = "not today"; return nil }),
		"a batch":  braid.On(func(_ context.Context, e *hook.BeforeTools) error { e.Cancel = "not today"; return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			var ended []*event.StepEnded
			got := oneCall(t, `{"say":"a"}`, echo(&ran), cancels,
				braid.On(func(_ context.Context, e *hook.AfterTool) error {
					if !e.Cancelled || e.Err == nil {
						t.Errorf("the hook after it is told %v, %v", e.Cancelled, e.Err)
					}
					return nil
				}),
				braid.On(func(_ context.Context, e *hook.EventSent) error {
					if b, ok := e.Event.Body.(*event.StepEnded); ok {
						ended = append(ended, b)
					}
					return nil
				}))
			if text := event.TextOf(got.Content); text != "not today" || !got.IsError || ran.Load() != 0 {
				t.Errorf("got %q (error %v), the tool ran %d times", text, got.IsError, ran.Load())
			}
			if len(ended) != 1 || ended[0].Outcome != event.OutcomeCancelled {
				t.Errorf("the call ended with %+v", ended)
			}
		})
	}
}

func TestTwoQuestionsWithOneName(t *testing.T) {
	t.Parallel()
	ask := braid.On(func(ctx context.Context, _ *hook.BeforeTool) error {
		_, err := braid.Ask[bool](ctx, "may it?", tool.AskName("may"))
		return err
	})
	var ran atomic.Int64
	got := oneCall(t, `{"say":"a"}`, echo(&ran), ask, ask)
	if text := event.TextOf(got.Content); !strings.Contains(text, `two questions have the name "may"`) || ran.Load() != 0 {
		t.Errorf("got %q, the tool ran %d times", text, ran.Load())
	}
}

func TestAllHooksAtOnePlaceAskInOneRound(t *testing.T) {
	t.Parallel()
	var got []string
	ask := func(who string, questions ...string) braid.Part {
		return braid.On(func(ctx context.Context, _ *hook.BeforeTool) error {
			for _, q := range questions {
				answer, err := braid.Ask[string](ctx, q)
				if err != nil {
					return err
				}
				got = append(got, who+":"+answer)
			}
			return nil
		})
	}
	asks := braid.Func("tool", "Asks.", func(ctx context.Context, _ struct {
		Say string `json:"say"`
	},
	) (string, error) {
		return braid.Ask[string](ctx, "tool 1")
	})
	m := answers(asksFor("tool", `{"say":"a"}`), says("end"))
	a, conv := braid.New("a", m, asks, ask("one", "one 1", "one 2"), ask("two", "two 1")), braid.NewConversation()
	r, err := a.Run(t.Context(), "go", braid.In(conv))
	var rounds [][]string
	for err == nil && r.Status == event.RunWaiting {
		got = nil
		var asked []string
		for _, q := range r.Questions {
			asked = append(asked, q.Prompt)
			if err := conv.Answer(t.Context(), q.Token, "to "+q.Prompt); err != nil {
				t.Fatal(err)
			}
		}
		rounds = append(rounds, asked)
		r, err = a.Resume(t.Context(), conv)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]string{{"one 1", "two 1"}, {"one 2"}, {"tool 1"}}; !slices.EqualFunc(rounds, want, slices.Equal) {
		t.Errorf("the rounds were %q, want %q", rounds, want)
	}
	if want := []string{"one:to one 1", "one:to one 2", "two:to two 1"}; !slices.Equal(got, want) {
		t.Errorf("at last the hooks got %q, want %q", got, want)
	}
}

func TestAHooksRetryDoesNotUseUpTheToolsPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		flaky := braid.Func("flaky", "Fails at its second call.", func(context.Context, struct{}) (string, error) {
			switch calls++; calls {
			case 1:
				return "draft", nil
			case 2:
				return "", &event.Error{Kind: event.ErrUnavailable, Message: "away"}
			}
			return "fine", nil
		}, tool.Idempotent(), exact(2))
		a := braid.New("a", answers(asksFor("flaky", `{}`), says("done")), flaky, braid.On(func(_ context.Context, e *hook.AfterTool) error {
			e.Retry = event.TextOf(e.Result.Content) == "draft"
			return nil
		}))
		begun := time.Now()
		r, err := a.Run(t.Context(), "hi")
		if err != nil || calls != 3 || r.Metrics.ToolErrors != 0 {
			t.Fatalf("%d calls, %d errors, %v", calls, r.Metrics.ToolErrors, err)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the policy's first wait was %v, want 1s", took)
		}
	})
}
