package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/braidrun/braid/tool"
)

// notes are what tools that run at once leave, in the order in which they do.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, what)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, ", ")
}

// exact is a policy without jitter.
func exact(attempts int) tool.Option {
	return tool.Retries(braid.Retry{Attempts: attempts, Base: time.Second, Max: 4 * time.Second, Exact: true})
}

// What a tool's own policy repeats, how often and when.
func TestAToolIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// fail gives the error of an attempt; nil is a success.
		fail     func(attempt int) error
		attempts int
		opts     []tool.Option
		ran      int64
		took     time.Duration
		want     string
	}{
		{"a failure that passes", func(n int) error { return unless(n == 3, errors.New("connection refused")) }, 5, nil, 3, 3 * time.Second, "done"},
		{"one that stays", func(int) error { return errors.New("connection refused") }, 4, nil, 4, 7 * time.Second, "Error: connection refused"},
		{"the waits have a bound", func(int) error { return errors.New("no") }, 6, nil, 6, (1 + 2 + 4 + 4 + 4) * time.Second, "Error: no"},
		{"no policy", func(int) error { return errors.New("no") }, 0, nil, 1, 0, "Error: no"},
		{"a kind that may be repeated", func(n int) error {
			return unless(n == 2, &event.Error{Kind: event.ErrThrottled, Message: "slow down", RetryAfter: time.Minute})
		}, 3, nil, 2, time.Minute, "done"},
		{"a kind that may not", func(int) error { return &event.Error{Kind: event.ErrPermission, Message: "not yours"} }, 3, nil, 1, 0, "Error: not yours"},
		{"a bare kind", func(int) error { return fmt.Errorf("asking: %w", event.ErrNotFound) }, 3, nil, 1, 0, "Error: asking: not_found"},
		{"wrong arguments", nil, 3, nil, 0, 0, "Error: invalid arguments"},
		{"a panic", func(int) error { panic("boom") }, 3, nil, 1, 0, "Error: the tool panicked"},
		{"its own time-out", func(n int) error { return unless(n == 2, context.DeadlineExceeded) }, 3, []tool.Option{tool.Timeout(time.Hour)}, 2, time.Hour + time.Second, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int64
				args := `{"say":"hi"}`
				if c.fail == nil {
					args = `{"say":7}`
				}
				tl := braid.Func("tool", "Does it.", func(ctx context.Context, _ struct {
					Say string `json:"say"`
				},
				) (string, error) {
					ran.Add(1)
					call := tool.CallOf(ctx)
					if err := tool.State[any](fmt.Sprint("attempt", call.Attempt)).Set(ctx, true); err != nil {
						return "", err
					}
					err := c.fail(call.Attempt)
					if errors.Is(err, context.DeadlineExceeded) {
						<-ctx.Done()
						return "", ctx.Err()
					}
					return "done", err
				}, append(c.opts, tool.Idempotent(), exact(c.attempts))...)
				begun := time.Now()
				conv := braid.NewConversation()
				result, err := braid.New("a", answers(asksFor("tool", args), says("ok")), tl).Run(t.Context(), "go", braid.In(conv))
				if err != nil || result.Text() != "ok" {
					t.Fatalf("%v: %+v", err, result)
				}
				if got := resultOf(t, conv, "tool"); ran.Load() != c.ran || time.Since(begun) != c.took || !strings.HasPrefix(got, c.want) {
					t.Errorf("%d attempts in %v gave %q", ran.Load(), time.Since(begun), got)
				}
				if result.Metrics.ToolCalls != 1 {
					t.Errorf("it counts as %d calls", result.Metrics.ToolCalls)
				}
				// What an attempt wrote that was repeated is gone with it.
				for n := int64(1); n < c.ran; n++ {
					if _, ok := result.State[fmt.Sprint("attempt", n)]; ok {
						t.Errorf("attempt %d left state", n)
					}
				}
			})
		})
	}
}

func unless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

// Repeating what nobody knows to be harmless is refused before anything runs.
func TestAToolThatMayNotBeRepeatedHasNoPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opts []tool.Option
		bad  bool
	}{
		{"unsafe", nil, true},
		{"unsafe, one attempt", []tool.Option{exact(1)}, false},
		{"pure", []tool.Option{exact(3), tool.Pure()}, false},
		{"idempotent", []tool.Option{exact(3), tool.Idempotent()}, false},
		{"reconcilable", []tool.Option{exact(3), tool.Reconcile(func(context.Context, json.RawMessage) (tool.Output, bool, error) {
			return tool.Output{}, false, nil
		})}, false},
		{"reconcilable, by nobody", []tool.Option{exact(3), tool.Reconcile(nil)}, true},
	} {
		opts := c.opts
		if opts == nil {
			opts = []tool.Option{exact(3)}
		}
		err := braid.New("a", answers(says("x")), braid.Func("pay", "Pays.", add, opts...)).Err()
		if e, _ := errors.AsType[*event.Error](err); (err != nil) != c.bad || c.bad && (e.Kind != event.ErrInvalid || e.Hint == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Of a call that can be asked about, the outside is asked before it is made again.
func TestTheOutsideIsAskedBeforeACallIsRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		know []error // what asking gives, by turn: nil means that it had happened
		want string
		ran  int64
		took time.Duration
	}{
		{"it had happened", []error{nil}, "paid before", 1, time.Second},
		{"it had not", []error{errUnknown}, "paid", 2, time.Second},
		{"nobody can tell, then it had", []error{errors.New("no answer"), nil}, "paid before", 1, 3 * time.Second},
		{"nobody can tell", []error{errors.New("no answer")}, "In doubt: ", 1, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran, asked atomic.Int64
				tl := braid.Func("tool", "Pays.", func(context.Context, struct{}) (string, error) {
					if ran.Add(1) == 1 {
						return "", errors.New("the line broke")
					}
					return "paid", nil
				}, exact(3), tool.Reconcile(func(context.Context, json.RawMessage) (tool.Output, bool, error) {
					switch err := c.know[min(int(asked.Add(1)), len(c.know))-1]; {
					case err == nil:
						return tool.Text("paid before"), true, nil
					case errors.Is(err, errUnknown):
						return tool.Output{}, false, nil
					default:
						return tool.Output{}, false, err
					}
				}))
				begun := time.Now()
				conv := braid.NewConversation()
				if _, err := braid.New("a", answers(asksFor("tool", `{}`), says("ok")), tl).Run(t.Context(), "go", braid.In(conv)); err != nil {
					t.Fatal(err)
				}
				if got := resultOf(t, conv, "tool"); !strings.HasPrefix(got, c.want) || ran.Load() != c.ran || time.Since(begun) != c.took {
					t.Errorf("%d attempts in %v gave %q", ran.Load(), time.Since(begun), got)
				}
			})
		})
	}
}

var errUnknown = errors.New("unknown")

// While one call waits for its next attempt the others go on; an engine's drive parks
// for a long wait, and another driver keeps to it.
func TestAWaitForATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), &journal.Memory{}
		var order notes
		agent := braid.New("desk", answers(asksFor("far", `{}`, "near", `{}`), says("done")),
			braid.Func("far", "Is far away.", func(ctx context.Context, _ struct{}) (string, error) {
				order.add(fmt.Sprint("far ", tool.CallOf(ctx).Attempt))
				if tool.CallOf(ctx).Attempt == 1 {
					return "", &event.Error{Kind: event.ErrUnavailable, Message: "closed", RetryAfter: time.Hour}
				}
				return "open", nil
			}, tool.Pure(), exact(2)),
			braid.Func("near", "Is near.", func(context.Context, struct{}) (string, error) {
				time.Sleep(time.Minute)
				order.add("near")
				return "here", nil
			}))
		sent, err := agent.Send(ctx, braid.Open(store, "c"), "hello")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r, err := agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{})
		if err != nil || r.Status != event.RunWaiting || !r.WakeAt.Equal(begun.Add(time.Hour)) || time.Since(begun) != time.Minute {
			t.Fatalf("%v after %v: %+v", err, time.Since(begun), r)
		}
		// Who comes too early waits, and calls nothing.
		if r, err = agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil || r.Status != event.RunWaiting {
			t.Fatalf("%v: %+v", err, r)
		}
		time.Sleep(time.Until(begun.Add(time.Hour)))
		r, err = agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{})
		if err != nil || r.Status != event.RunCompleted || order.String() != "far 1, near, far 2" {
			t.Fatalf("%v: %+v after %v", err, r, &order)
		}
	})
}

// A run that is cancelled while a call waits for its next attempt ends with a result for it.
func TestCancellingAWaitForATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conv := braid.NewConversation()
		agent := braid.New("a", answers(asksFor("tool", `{}`), says("never")),
			braid.Func("tool", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("no") },
				tool.Pure(), tool.Retries(braid.Retry{Attempts: 2, Base: time.Minute, Max: time.Minute, Exact: true})))
		begun := time.Now()
		if _, err := agent.Run(ctx, "go", braid.In(conv)); !errors.Is(err, event.ErrTimeout) || time.Since(begun) != 10*time.Second {
			t.Errorf("it ended after %v with %v", time.Since(begun), err)
		}
		if got := resultOf(t, conv, "tool"); got != "The tool call failed, and was cancelled before it was made again." {
			t.Errorf("the result is %q", got)
		}
	})
}

// A hook that makes a result of a failure has the last word; one that does not sees every attempt.
func TestHooksAndTheToolsPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var before, after atomic.Int64
		tl := braid.Func("tool", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("no") }, tool.Pure(), exact(5))
		conv := braid.NewConversation()
		_, err := braid.New("a", answers(asksFor("tool", `{}`), says("ok")), tl,
			braid.On(func(context.Context, *braid.BeforeTool) error { before.Add(1); return nil }),
			braid.On(func(_ context.Context, e *braid.AfterTool) error {
				if after.Add(1) == 3 {
					e.Result = &event.ToolResult{Content: []event.Block{&event.Text{Text: "never mind"}}}
				}
				return nil
			})).Run(t.Context(), "go", braid.In(conv))
		if err != nil {
			t.Fatal(err)
		}
		if got := resultOf(t, conv, "tool"); got != "never mind" || before.Load() != 3 || after.Load() != 3 {
			t.Errorf("%q after %d hooks before and %d after", got, before.Load(), after.Load())
		}
	})
}

// No more calls of a tool run at once than it takes, and no more of all than the agent does;
// what waits has its whole time-out before it, and others pass it by.
func TestAToolsOwnBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		bound    int
		parallel int
		most     int64
		took     time.Duration
		other    time.Duration
	}{
		{"none", 0, 0, 6, time.Minute, time.Minute},
		{"one at a time", 1, 0, 1, 6 * time.Minute, time.Minute},
		{"two at a time", 2, 0, 2, 3 * time.Minute, time.Minute},
		{"the agent's is tighter", 3, 2, 2, 4 * time.Minute, 4 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int64
				var otherEnded time.Duration
				begun := time.Now()
				slow := braid.Func("slow", "Is slow.", func(ctx context.Context, _ struct{}) (string, error) {
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer now.Add(-1)
					select {
					case <-time.After(time.Minute):
						return "ok", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}, tool.Parallel(c.bound), tool.Timeout(61*time.Second))
				other := braid.Func("other", "Is another one.", func(context.Context, struct{}) (string, error) {
					time.Sleep(time.Minute)
					otherEnded = time.Since(begun)
					return "ok", nil
				})
				asks := []string{}
				for range 6 {
					asks = append(asks, "slow", `{}`)
				}
				model := answers(asksFor(append(asks, "other", `{}`)...), says("done"))
				result, err := braid.New("a", model, slow, other, braid.Limit(braid.Limits{Parallel: c.parallel})).Run(t.Context(), "go")
				if err != nil || result.Metrics.ToolErrors != 0 {
					t.Fatalf("%v: %+v", err, result)
				}
				if most.Load() != c.most || time.Since(begun) != c.took || otherEnded != c.other {
					t.Errorf("%d at once, %v in all, the other after %v", most.Load(), time.Since(begun), otherEnded)
				}
				for e, err := range result.Conversation.Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if b, ok := e.Body.(*event.StepEnded); ok && b.Duration != time.Minute {
						t.Errorf("the wait counts: %v", b.Duration)
					}
				}
			})
		})
	}
}

// foreign is a tool that is made elsewhere.
type foreign struct{ traits tool.Traits }

func (*foreign) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "foreign", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (*foreign) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Text("from elsewhere"), nil
}

func (f *foreign) Traits() tool.Traits { return f.traits }

// Adjust changes what is named and nothing else, of any tool, and not the tool itself.
func TestAdjust(t *testing.T) {
	t.Parallel()
	for _, tl := range []braid.Tool{
		&foreign{tool.Traits{Effect: event.EffectIdempotent, Timeout: time.Minute}},
		braid.Func("foreign", "", func(context.Context, struct{}) (string, error) { return "from elsewhere", nil }, tool.Idempotent(), tool.Timeout(time.Minute)),
	} {
		adjusted := tool.Adjust(tl, tool.Parallel(2), exact(3))
		got, was := tool.TraitsOf(adjusted), tool.TraitsOf(tl)
		if got.Effect != event.EffectIdempotent || got.Timeout != time.Minute || got.Parallel != 2 || got.Retry.Attempts != 3 || was.Parallel != 0 {
			t.Errorf("%T became %+v from %+v", tl, got, was)
		}
		agent := braid.New("a", answers(asksFor("foreign", `{}`), says("ok")), braid.Tools(adjusted))
		result, err := agent.Run(t.Context(), "go")
		if err != nil || resultOf(t, result.Conversation, "foreign") != "from elsewhere" {
			t.Errorf("%v: %+v", err, result)
		}
	}
	if err := braid.New("a", answers(says("ok")), braid.Tools(tool.Adjust(nil))).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("nothing, adjusted: %v", err)
	}
}

// A call that waits for its tool holds up no other one.
func TestWhoWaitsForItsToolHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended notes
		nap := func(name string, d time.Duration, opts ...tool.Option) braid.Part {
			return braid.Func(name, "", func(ctx context.Context, _ struct{}) (string, error) {
				time.Sleep(d)
				ended.add(tool.CallOf(ctx).ID)
				return "ok", nil
			}, opts...)
		}
		model := answers(asksFor("slow", `{}`, "slow", `{}`, "quick", `{}`, "quick", `{}`), says("done"))
		agent := braid.New("a", model, nap("slow", time.Minute, tool.Parallel(1)), nap("quick", 20*time.Second), braid.Limit(braid.Limits{Parallel: 2}))
		if _, err := agent.Run(t.Context(), "go"); err != nil || ended.String() != "c2, c3, c0, c1" {
			t.Errorf("%v: they ended in the order %v", err, &ended)
		}
	})
}
