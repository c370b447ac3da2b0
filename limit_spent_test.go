package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// dear is a model that costs a micro-dollar a token.
type dear struct{ *script }

func (d dear) Info() model.Info {
	return model.Info{Name: "test:dear", Cost: func(u event.Usage) (int64, bool) { return u.Total * 1000, true }}
}

// worker asks for its one tool without end; each call uses 20 tokens in and 5 out.
func worker(l braid.Limits, parts ...braid.Part) *braid.Agent {
	parts = append(parts, braid.Limit(l), braid.Func("add", "Adds.", add))
	return braid.New("worker", dear{answers(asksFor("add", `{"a":1,"b":2}`))}, parts...)
}

// Every limit of a run has its stop reason, is told with the name of its setting, and lets
// the tools finish that were asked for.
func TestEachLimitHasItsStopReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting string
		limits  braid.Limits
		stop    event.StopReason
		cycles  int
	}{
		{"Limits.Cycles", braid.Limits{Cycles: 3}, event.StopLimitCycles, 3},
		{"Limits.ToolCalls", braid.Limits{ToolCalls: 2}, event.StopLimitToolCalls, 2},
		{"Limits.AllCycles", braid.Limits{AllCycles: 3}, event.StopLimitCycles, 3},
		{"Limits.AllToolCalls", braid.Limits{AllToolCalls: 2}, event.StopLimitToolCalls, 2},
		{"Limits.InputTokens", braid.Limits{InputTokens: 41}, event.StopLimitInputTokens, 3},
		{"Limits.InputTokens", braid.Limits{InputTokens: 40}, event.StopLimitInputTokens, 2},
		{"Limits.OutputTokens", braid.Limits{OutputTokens: 11}, event.StopLimitOutputTokens, 3},
		{"Limits.TotalTokens", braid.Limits{TotalTokens: 51}, event.StopLimitTotalTokens, 3},
		{"Limits.CostNanoUSD", braid.Limits{CostNanoUSD: 50_000}, event.StopLimitCost, 2},
		{"Limits.CostNanoUSD", braid.Limits{CostNanoUSD: 50_001}, event.StopLimitCost, 3},
		// Of several that are reached at once, the first of this order counts.
		{"Limits.Cycles", braid.Limits{Cycles: 2, ToolCalls: 2, TotalTokens: 50}, event.StopLimitCycles, 2},
		{"Limits.ToolCalls", braid.Limits{ToolCalls: 2, TotalTokens: 50, OutputTokens: 10}, event.StopLimitToolCalls, 2},
		{"Limits.TotalTokens", braid.Limits{TotalTokens: 50, OutputTokens: 10, InputTokens: 40}, event.StopLimitTotalTokens, 2},
		{"Limits.OutputTokens", braid.Limits{OutputTokens: 10, InputTokens: 40, CostNanoUSD: 50_000}, event.StopLimitOutputTokens, 2},
		{"Limits.InputTokens", braid.Limits{InputTokens: 40, CostNanoUSD: 50_000}, event.StopLimitInputTokens, 2},
		{"Limits.Conversation.Cycles", braid.Limits{Conversation: braid.Budget{Cycles: 3}}, event.StopLimitCycles, 3},
		{"Limits.Conversation.ToolCalls", braid.Limits{Conversation: braid.Budget{ToolCalls: 3}}, event.StopLimitToolCalls, 3},
		{"Limits.Conversation.InputTokens", braid.Limits{Conversation: braid.Budget{InputTokens: 60}}, event.StopLimitInputTokens, 3},
		{"Limits.Conversation.OutputTokens", braid.Limits{Conversation: braid.Budget{OutputTokens: 15}}, event.StopLimitOutputTokens, 3},
		{"Limits.Conversation.TotalTokens", braid.Limits{Conversation: braid.Budget{TotalTokens: 75}}, event.StopLimitTotalTokens, 3},
		{"Limits.Conversation.CostNanoUSD", braid.Limits{Conversation: braid.Budget{CostNanoUSD: 75_000}}, event.StopLimitCost, 3},
	} {
		t.Run(c.setting, func(t *testing.T) {
			t.Parallel()
			conv := braid.NewConversation()
			r, err := worker(c.limits).Run(t.Context(), "go", braid.In(conv))
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != event.ErrLimit || !strings.Contains(e.Hint, c.setting+" ") {
				t.Errorf("the error is %v", err)
			}
			if r.Status != event.RunCompleted || r.Stop != c.stop || r.Why != event.WhyLimit || r.Metrics.Cycles != c.cycles {
				t.Errorf("got %s, %s, %s after %d cycles, want %s after %d", r.Status, r.Stop, r.Why, r.Metrics.Cycles, c.stop, c.cycles)
			}
			if r.Metrics.ToolCalls != c.cycles || r.Metrics.ToolErrors > 0 {
				t.Errorf("%d tool calls ran, %d failed", r.Metrics.ToolCalls, r.Metrics.ToolErrors)
			}
			if r, err := braid.New("other", answers(says("hello"))).Run(t.Context(), "again", braid.In(conv)); err != nil || r.Text() != "hello" {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// What sub-agents do counts for those above them. A sub-agent's own limits end its call
// alone; the root's end the run, wherever it is.
func TestLimitsCountSubAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		root, sub braid.Limits
		stop      event.StopReason
		calls     int64
	}{
		{"the sub-agent's own", braid.Limits{Cycles: 2}, braid.Limits{Cycles: 3}, event.StopLimitCycles, 2 + 2*3},
		{"the root's cycles count its own", braid.Limits{Cycles: 2}, braid.Limits{ToolCalls: 5}, event.StopLimitCycles, 2 + 2*5},
		{"the root's in all", braid.Limits{AllCycles: 5}, braid.Limits{}, event.StopLimitCycles, 5},
		{"tool calls in all", braid.Limits{AllToolCalls: 5}, braid.Limits{}, event.StopLimitToolCalls, 5},
		{"tokens", braid.Limits{TotalTokens: 5 * 25}, braid.Limits{}, event.StopLimitTotalTokens, 5},
		{"money", braid.Limits{CostNanoUSD: 5 * 25_000}, braid.Limits{}, event.StopLimitCost, 5},
		{"the conversation's", braid.Limits{Conversation: braid.Budget{Cycles: 5}}, braid.Limits{}, event.StopLimitCycles, 5},
		// A sub-agent has used nothing of its own when it is called again.
		{"tokens of one call", braid.Limits{Cycles: 2}, braid.Limits{TotalTokens: 50}, event.StopLimitCycles, 2 + 2*2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := dear{answers(asksFor("worker", `{"input":"work"}`))}
			sub := worker(c.sub)
			root := braid.New("root", model, braid.AsTool(sub, "Works."), braid.Limit(c.root))
			r, err := root.Run(t.Context(), "go")
			if !errors.Is(err, event.ErrLimit) || r.Stop != c.stop {
				t.Errorf("got %s and %v", r.Stop, err)
			}
			if got := model.calls.Load() + sub.Model().(dear).calls.Load(); got != c.calls {
				t.Errorf("the models were called %d times, want %d", got, c.calls)
			}
		})
	}
}

// Too many agents, or too deep: the call gets a result that says so, what stands beside
// it finishes, and the scope ends.
func TestTooManyAgents(t *testing.T) {
	t.Parallel()
	leaf := braid.New("leaf", answers(says("leaf done")))
	middle := braid.New("middle", answers(asksFor("leaf", `{"input":"work"}`), says("middle done")), braid.AsTool(leaf, "Works."))
	for _, c := range []struct {
		name   string
		limits braid.Limits
		runs   int
		stop   event.StopReason
		scopes int
	}{
		{"depth", braid.Limits{Depth: 1}, 1, event.StopEndTurn, 1},
		{"no depth at all", braid.Limits{Depth: 0, Scopes: 1}, 1, event.StopLimitScopes, 0},
		{"number", braid.Limits{Scopes: 2}, 1, event.StopEndTurn, 1},
		{"number in the conversation", braid.Limits{Conversation: braid.Budget{Scopes: 3}}, 1, event.StopEndTurn, 2},
		{"number in the conversation, later", braid.Limits{Conversation: braid.Budget{Scopes: 4}}, 3, event.StopLimitScopes, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := braid.New("root", answers(asksFor("middle", `{"input":"work"}`, "add", `{"a":1,"b":2}`), says("root done")),
				braid.AsTool(middle, "Works."), braid.Func("add", "Adds.", add), braid.Limit(c.limits))
			conv := braid.NewConversation()
			var r *braid.Result
			for range c.runs {
				r, _ = root.Run(t.Context(), "go", braid.In(conv))
			}
			scopes, refused, added := 0, 0, 0
			closed := event.StopReason("")
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *event.ScopeOpened:
					scopes++
				case *event.ScopeClosed:
					if b.Err != nil {
						closed = b.Stop
					}
				case *event.StepEnded:
					if b.Err != nil && strings.HasPrefix(b.Err.Code, "limit_") {
						refused++
					}
					if b.Result != nil && b.Result.Name == "add" && !b.Result.IsError {
						added++
					}
				}
			}
			if r.Stop != c.stop || scopes != c.scopes || added != c.runs {
				t.Errorf("got %s with %d scopes and %d results, want %s with %d", r.Stop, scopes, added, c.stop, c.scopes)
			}
			if c.name == "depth" && (closed != event.StopLimitDepth || refused != 1) {
				t.Errorf("the inner agent ended with %q, %d calls were refused", closed, refused)
			}
			if _, err := braid.New("other", answers(says("hello"))).Run(t.Context(), "again", braid.In(conv)); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// A hook that makes a result of a refusal lets the agent go on.
func TestAHookMayForgiveARefusedAgent(t *testing.T) {
	t.Parallel()
	sub := braid.New("sub", answers(says("done")))
	root := braid.New("root", answers(asksFor("sub", `{"input":"x"}`), says("without it, then")), braid.AsTool(sub, ""), braid.Limit(braid.Limits{Scopes: 1}),
		braid.On(func(_ context.Context, e *hook.AfterTool) error { e.Result.IsError = false; return nil }))
	if r, err := root.Run(t.Context(), "go"); err != nil || r.Text() != "without it, then" {
		t.Errorf("got %q, %v", r.Text(), err)
	}
}

// Tokens that came from a provider's cache, or went into it, are read by the model as well.
func TestCachedTokensAreInput(t *testing.T) {
	t.Parallel()
	call := asksFor("add", `{"a":1,"b":2}`)
	call[len(call)-2].Usage = &event.Usage{Input: 1, CacheRead: 50, CacheWrite: 49, Output: 1, Total: 101}
	agent := braid.New("a", answers(call), braid.Func("add", "Adds.", add), braid.Limit(braid.Limits{InputTokens: 200}))
	if r, err := agent.Run(t.Context(), "go"); !errors.Is(err, event.ErrLimit) || r.Metrics.Cycles != 2 {
		t.Errorf("got %d cycles, %v", r.Metrics.Cycles, err)
	}
}

// tailed is a store that gives of a log only its last run and what belongs to it.
type tailed struct {
	journal.Memory

	whole int
}

func (s *tailed) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := s.Tail(ctx, conversation)
	return journal.StoredTail{Tail: t}, err
}

func (s *tailed) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	events, err := s.Memory.Read(ctx, conversation, 0, 0)
	if err != nil {
		return journal.Tail{}, err
	}
	t := journal.Tail{First: 1, Events: events}
	state, before := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for i, e := range events {
		t.Last = e.Seq
		switch b := e.Body.(type) {
		case *event.RunStarted:
			t.First, t.Events, t.Session, t.Begin = e.Seq, events[i:], b.Session, e.Seq
			before = maps.Clone(state)
		case *event.StateChanged:
			maps.Copy(state, b.Set)
			for _, key := range b.Delete {
				delete(state, key)
			}
		}
	}
	if t.First > 1 {
		t.State = before
	}
	return t, nil
}

func (s *tailed) Entered(context.Context, string, string) (string, error) { return "", nil }

func (s *tailed) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	if after == 0 && limit == 0 {
		s.whole++
	}
	return s.Memory.Read(ctx, conversation, after, limit)
}

// What a conversation has used survives the process, also where the next one reads only
// the end of the log, and counts for whichever agent comes next.
func TestAConversationsBudgetSurvives(t *testing.T) {
	t.Parallel()
	store := &tailed{}
	run := func(l braid.Limits) (*braid.Result, error) {
		// A handle of its own has nothing in memory.
		return worker(l).Run(t.Context(), "go", braid.In(braid.Open(store, "c")), braid.NewSession())
	}
	budget := braid.Budget{TotalTokens: 200}
	for i, c := range []struct {
		limits braid.Limits
		cycles int
		stop   event.StopReason
		whole  int
	}{
		{braid.Limits{Cycles: 2}, 2, event.StopLimitCycles, 0},                       // 50 tokens, counted by nobody
		{braid.Limits{Cycles: 2}, 2, event.StopLimitCycles, 0},                       // 100
		{braid.Limits{Cycles: 2, Conversation: budget}, 2, event.StopLimitCycles, 1}, // 150: the log is read once, whole
		{braid.Limits{Cycles: 1, Conversation: budget}, 1, event.StopLimitCycles, 1}, // 175: and says it from then on
		{braid.Limits{Cycles: 9, Conversation: budget}, 1, event.StopLimitTotalTokens, 1},
		{braid.Limits{Cycles: 9, Conversation: budget}, 0, event.StopLimitTotalTokens, 1},
		{braid.Limits{Cycles: 9, Conversation: braid.Budget{TotalTokens: 250}}, 2, event.StopLimitTotalTokens, 1},
	} {
		r, err := run(c.limits)
		if !errors.Is(err, event.ErrLimit) || r.Metrics.Cycles != c.cycles || r.Stop != c.stop || store.whole != c.whole {
			t.Errorf("run %d: %d cycles, %s, the whole log read %d times, %v", i+1, r.Metrics.Cycles, r.Stop, store.whole, err)
		}
	}
}

// A limit in money needs prices, of sub-agents too, and does not take a call for nothing
// whose end nobody heard.
func TestALimitInMoney(t *testing.T) {
	t.Parallel()
	limit := braid.Limit(braid.Limits{CostNanoUSD: 1})
	unpriced := braid.New("sub", answers(says("hi")))
	for name, agent := range map[string]*braid.Agent{
		"its own model":    braid.New("a", answers(says("hi")), limit),
		"a fallback":       braid.New("a", dear{answers(says("hi"))}, limit, braid.Fallback([]event.ErrorKind{event.ErrThrottled}, answers(says("hi")))),
		"a sub-agent's":    braid.New("a", dear{answers(says("hi"))}, limit, braid.AsTool(unpriced, "")),
		"the conversation": braid.New("a", answers(says("hi")), braid.Limit(braid.Limits{Conversation: braid.Budget{CostNanoUSD: 1}})),
	} {
		var e *event.Error
		if err := agent.Err(); !errors.As(err, &e) || e.Kind != event.ErrInvalid || !strings.Contains(e.Message, "costs") || e.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		m := dear{&script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == 2 && req.Attempt < 3 {
				return chunks(says("cut")[:1])
			}
			return chunks(asksFor("add", `{"a":1,"b":2}`))
		}}}
		agent := braid.New("a", m, braid.Func("add", "Adds.", add), braid.Limit(braid.Limits{CostNanoUSD: 100_000}))
		r, err := agent.Run(t.Context(), "go")
		// 25,000 for the first call, and an estimate for the second, which was cut.
		if !errors.Is(err, event.ErrLimit) || r.Stop != event.StopLimitCost || m.calls.Load() != 2 || r.CostNanoUSD == nil || !r.Estimated {
			t.Errorf("got %s after %d calls, %v", r.Stop, m.calls.Load(), err)
		}
	})
}

// Time that a conversation has used up is gone for the next run, also after a restart; that
// in which it waited is not.
func TestAConversationsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &tailed{}
		slow := braid.Func("slow", "Takes 40 s.", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(40 * time.Second):
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		limits := braid.Limit(braid.Limits{Conversation: braid.Budget{Active: time.Minute}})
		run := func() (*braid.Result, error) {
			agent := braid.New("a", answers(asksFor("slow", `{}`), says("ok")), slow, limits)
			return agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")), braid.NewSession())
		}
		if r, err := run(); err != nil || r.Text() != "ok" {
			t.Fatal(r, err)
		}
		time.Sleep(time.Hour)
		begun := time.Now()
		if r, err := run(); !errors.Is(err, event.ErrTimeout) || r.Stop != event.StopTimeout || time.Since(begun) != 20*time.Second {
			t.Errorf("the second run ended after %v with %v", time.Since(begun), err)
		}
		begun = time.Now()
		if r, err := run(); !errors.Is(err, event.ErrTimeout) || r.Metrics.ModelCalls != 0 || time.Since(begun) != 0 {
			t.Errorf("the third run ended after %v with %v", time.Since(begun), err)
		}
	})
}
