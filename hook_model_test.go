package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// named is a model of another name.
type named struct {
	braid.Model
	name string
}

func (n named) Info() model.Info { return model.Info{Name: n.name} }

func text(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }

func TestHooksAroundAModelCall(t *testing.T) {
	t.Parallel()
	before := func(f func(*hook.BeforeModel) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.BeforeModel) error { return f(e) })
	}
	after := func(f func(*hook.AfterModel) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.AfterModel) error { return f(e) })
	}
	throttled := &event.Error{Kind: event.ErrThrottled, Message: "slow down"}
	for _, c := range []struct {
		name  string
		part  braid.Part
		model func(req *model.Request) iter.Seq2[model.Chunk, error]
		// want is the answer, or with failed the error's words.
		want   string
		failed bool
		calls  int64
		tokens int64
	}{
		{"nothing", before(func(*hook.BeforeModel) error { return nil }), nil, "go", false, 1, 15},
		{"cancel", before(func(e *hook.BeforeModel) error { e.Cancel = "no"; return nil }), nil, "no", false, 0, 0},
		{"input", before(func(e *hook.BeforeModel) error {
			e.Request.Messages[0] = event.Message{Role: event.RoleUser, Content: text("other")}
			return nil
		}), nil, "other", false, 1, 15},
		{"another request", before(func(e *hook.BeforeModel) error {
			e.Request = &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: text("new")}}}
			return nil
		}), nil, "new", false, 1, 15},
		{"fail before", before(func(*hook.BeforeModel) error { return errors.New("closed") }), nil, "closed", true, 0, 0},
		{"panic before", before(func(*hook.BeforeModel) error { panic("oh") }), nil, "a hook panicked", true, 0, 0},
		{"result", after(func(e *hook.AfterModel) error { e.Message.Content = text("nicer"); return nil }), nil, "nicer", false, 1, 15},
		{"take away", after(func(e *hook.AfterModel) error { e.Message = nil; return nil }), nil, "took the model's answer away", true, 1, 15},
		{"spoil", after(func(e *hook.AfterModel) error {
			e.Message.Content = []event.Block{&event.ToolCall{Name: "x"}}
			return nil
		}), nil, "cannot be told apart", true, 1, 15},
		{"nil block", after(func(e *hook.AfterModel) error {
			e.Message.Content = []event.Block{nil}
			return nil
		}), nil, "a block that is nil", true, 1, 15},
		{"fail after", after(func(*hook.AfterModel) error { return errors.New("closed") }), nil, "closed", true, 1, 15},
		{"panic after", after(func(*hook.AfterModel) error { panic("oh") }), nil, "a hook panicked", true, 1, 15},
		{"retry", after(func(e *hook.AfterModel) error {
			e.Retry, e.Wait = e.Request.Attempt < 3, time.Minute
			return nil
		}), nil, "go", false, 3, 45},
		{"retry without end", after(func(e *hook.AfterModel) error { e.Retry = true; return nil }), nil, "go", false, 20, 300},
		{
			"retry a failure", after(func(e *hook.AfterModel) error { e.Retry = e.Err != nil; return nil }),
			func(req *model.Request) iter.Seq2[model.Chunk, error] {
				if req.Attempt == 1 {
					return failing(&event.Error{Kind: event.ErrInvalid, Message: "bad"})
				}
				return chunks(says("good"))
			}, "good", false, 2, 15,
		},
		{"mend a failure", after(func(e *hook.AfterModel) error {
			if !errors.Is(e.Err, event.ErrThrottled) || e.Message != nil {
				return fmt.Errorf("got %v, %v", e.Message, e.Err)
			}
			e.Message = &event.AssistantMessage{Content: text("later"), Stop: event.StopEndTurn}
			return nil
		}), func(*model.Request) iter.Seq2[model.Chunk, error] { return failing(throttled) }, "later", false, 1, 0},
		{"after a cancel", braid.Parts(
			before(func(e *hook.BeforeModel) error { e.Cancel = "no"; return nil }),
			after(func(e *hook.AfterModel) error {
				e.Message.Content = text(event.TextOf(e.Message.Content) + "!")
				return nil
			}),
		), nil, "no!", false, 0, 0},
		{"after a failure before", braid.Parts(
			before(func(*hook.BeforeModel) error { return errors.New("closed") }),
			after(func(e *hook.AfterModel) error { return fmt.Errorf("saw %w", e.Err) }),
		), nil, "saw closed", true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					if c.model != nil {
						return c.model(req)
					}
					return chunks(says(event.TextOf(req.Messages[0].Content)))
				}}
				conv := braid.NewConversation()
				result, err := braid.New("a", m, c.part, braid.Retries(braid.Retry{Attempts: 1})).Run(t.Context(), "go", braid.In(conv))
				if c.failed {
					if err == nil || !strings.Contains(err.Error(), c.want) || result.Status != event.RunFailed {
						t.Errorf("failed with %v, want %q", err, c.want)
					}
				} else if err != nil || result.Text() != c.want || result.Status != event.RunCompleted {
					t.Errorf("got %q, %v, want %q", result.Text(), err, c.want)
				}
				if m.calls.Load() != c.calls || result.Usage.Total != c.tokens {
					t.Errorf("%d calls and %d tokens, want %d and %d", m.calls.Load(), result.Usage.Total, c.calls, c.tokens)
				}
				messages, err := conv.Messages(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if !c.failed && event.TextOf(messages[0].Content) != "go" {
					t.Errorf("the history begins with %q", messages[0].Text())
				}
			})
		})
	}
}

// A hook asks another model for one call alone; usage counts for the one that was asked, and
// the next call is the agent's own again.
func TestAHookSwapsTheModelForOneCall(t *testing.T) {
	t.Parallel()
	other := named{answers(asksFor("add", `{"a":1,"b":2}`)), "test:other"}
	first := answers(nil, says("3"))
	agent := braid.New("a", first, braid.Func("add", "Adds.", add),
		braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			if e.Request.Cycle == 1 {
				e.Model = other
			}
			return nil
		}))
	var begun []string
	for e, err := range agent.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if b.Step == event.StepModel {
				begun = append(begun, b.Model+">"+b.Runs)
			}
		case *event.RunEnded:
			var models []string
			for _, m := range b.Models {
				models = append(models, fmt.Sprint(m.Model, m.Usage.Total))
			}
			if want := []string{"test:other25", "test:script15"}; !slices.Equal(models, want) {
				t.Errorf("the models are %v, want %v", models, want)
			}
		}
	}
	if want := []string{"test:script>test:other", "test:script>"}; !slices.Equal(begun, want) {
		t.Errorf("begun %v, want %v", begun, want)
	}
}

// A hook after a call that the run stops has time left, and changes nothing.
func TestHooksAfterACancelledModelCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		alive := "not called"
		m := &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
			cancel()
			<-ctx.Done()
			return failing(ctx.Err())
		}}
		result, err := braid.New("a", m, braid.On(func(ctx context.Context, e *hook.AfterModel) error {
			alive = fmt.Sprint(ctx.Err(), " ", errors.Is(e.Err, context.Canceled))
			e.Retry = true
			return nil
		})).Run(ctx, "go")
		if result == nil || result.Status != event.RunCancelled || alive != "<nil> true" || m.calls.Load() != 1 {
			t.Errorf("%+v, %v, %s", result, err, alive)
		}
	})
}
