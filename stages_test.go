package braid_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// Hooks after a call see what the guardrails have left, also of a call that another hook has refused.
func TestHooksAfterARefusedCallSeeWhatGuardrailsLeave(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(e *braid.BeforeTool) error{
		"cancelled": func(e *braid.BeforeTool) error { e.Cancel = "card " + canary; return nil },
		"failed":    func(*braid.BeforeTool) error { return errors.New("card " + canary) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := 0
			agent := braid.New("a", answers(asksFor("tool", `{}`), says("so")), braid.Guard("cards", noCards, braid.GuardResult),
				braid.Func("tool", "", func(context.Context, nothing) (string, error) { return "fine", nil }),
				braid.On(func(_ context.Context, e *braid.BeforeTool) error { return refuse(e) }),
				braid.On(func(_ context.Context, e *braid.AfterTool) error {
					seen++
					birdsIn(t, "the result of the hook", e.Result)
					birdsIn(t, "the error of the hook", e.Err.Error())
					return nil
				}))
			if _, err := agent.Run(t.Context(), "go"); err != nil || seen != 1 {
				t.Errorf("the hook was called %d times: %v", seen, err)
			}
		})
	}
}

// Hooks after a model call see what the guardrails have left, also of the words with which another hook answered.
func TestHooksAfterAModelSeeWhatGuardrailsLeaveOfAHooksAnswer(t *testing.T) {
	t.Parallel()
	seen := 0
	agent := braid.New("a", answers(says("so")), braid.Guard("cards", noCards, braid.GuardOutput),
		braid.On(func(_ context.Context, e *hook.BeforeModel) error { e.Cancel = "card " + canary; return nil }),
		braid.On(func(_ context.Context, e *hook.AfterModel) error {
			seen++
			birdsIn(t, "the message of the hook", e.Message)
			return nil
		}))
	if r, err := agent.Run(t.Context(), "go"); err != nil || seen != 1 || r.Text() != "card [card]" {
		t.Errorf("the hook was called %d times, the answer is %q: %v", seen, r.Text(), err)
	}
}

// State that a hook sets before a call that it refuses passes the mask of the run's secrets.
func TestStateOfARefusedCallHasNoSecrets(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("a", answers(asksFor("tool", `{}`), says("so")),
		braid.Func("tool", "", func(context.Context, nothing) (string, error) { return "fine", nil }),
		braid.On(func(ctx context.Context, e *braid.BeforeTool) error {
			e.Cancel = "no"
			return tool.State[any]("kept").Set(ctx, "it is "+runToken)
		}))
	if _, err := agent.Run(t.Context(), "go", braid.In(conv), braid.WithSecrets(map[string]secret.Secret{"t": secret.New(runToken)})); err != nil {
		t.Fatal(err)
	}
	state, err := conv.State(t.Context())
	if err != nil || !strings.Contains(string(state["kept"]), "it is ") {
		t.Errorf("the state is %s: %v", state["kept"], err)
	}
	tokenIn(t, "the state", state)
}

// A call that is cut off because its process ends is made again by the next driver. What it had set by then is not kept,
// so that an update of the state counts once.
func TestACallThatIsCutOffKeepsNoState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = braid.State[int]("count")
		store := journal.NewMemory(journal.MemoryOptions{})
		made := func(stop func()) *braid.Agent {
			return braid.New("a", answers(asksFor("tool", `{}`), says("so")), braid.Func("tool", "", func(ctx context.Context, _ nothing) (string, error) {
				if err := count.Update(ctx, func(n int) (int, error) { return n + 1, nil }); err != nil {
					return "", err
				}
				if stop != nil {
					stop()
					return "", ctx.Err()
				}
				return "fine", nil
			}, tool.Idempotent()))
		}
		ctx, stop := context.WithCancelCause(t.Context())
		first := made(func() { stop(&event.Error{Kind: event.ErrUnavailable, Message: "the process ends"}) })
		if r, err := first.Run(ctx, "go", braid.In(braid.Open(store, "c"))); err == nil && r.Status != event.RunRunning {
			t.Fatalf("the first driver ended the run: %s", r.Status)
		}
		time.Sleep(time.Minute)
		conv := braid.Open(store, "c")
		if _, err := made(nil).Resume(t.Context(), conv); err != nil {
			t.Fatal(err)
		}
		if n, _, err := count.Of(t.Context(), conv); err != nil || n != 1 {
			t.Errorf("the update counts %d times: %v", n, err)
		}
	})
}
