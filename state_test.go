package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

const (
	total  braid.State[int]      = "total"
	cart   braid.State[[]string] = "cart"
	ofRun  braid.State[string]   = braid.StateRun + "phase"
	ofCall braid.State[int]      = braid.StateTemp + "calls"
)

// A typed value: set, read, changed and removed by tools, and read between runs.
func TestTypedState(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	step := 0
	tool := braid.Func("work", "", func(ctx context.Context, _ struct{}) (string, error) {
		step++
		list, ok, err := cart.Get(ctx)
		if err != nil {
			return "", err
		}
		if err := ofCall.Update(ctx, func(n int) (int, error) { return n + 1, nil }); err != nil {
			return "", err
		}
		switch step {
		case 1:
			return fmt.Sprint(list, ok), errors.Join(cart.Set(ctx, []string{"tea"}), ofRun.Set(ctx, "begun"))
		case 2:
			return fmt.Sprint(list, ok), cart.Update(ctx, func(old []string) ([]string, error) { return append(old, "milk"), nil })
		default:
			phase, ok, _ := ofRun.Get(ctx)
			return fmt.Sprint(list, phase, ok), cart.Delete(ctx)
		}
	})
	call := asksFor("work", `{}`)
	r, err := braid.New("a", answers(call, call, says("ok")), tool).Run(t.Context(), "go", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	if list, ok, err := cart.Of(t.Context(), conv); err != nil || !ok || strings.Join(list, " ") != "tea milk" {
		t.Errorf("after the first run: %v %v %v", list, ok, err)
	}
	if string(r.State["phase"]) != `"begun"` || string(r.State["calls"]) != "2" {
		t.Errorf("the run's own state is %s", raw(r.State))
	}
	if _, _, err := braid.State[int](cart).Of(t.Context(), conv); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("read as another type: %v", err)
	}
	if r, err = braid.New("a", answers(call, says("ok")), tool).Run(t.Context(), "go", braid.In(conv)); err != nil || len(r.State) != 1 {
		t.Errorf("%s, %v", raw(r.State), err)
	}
	messages, _ := conv.Messages(t.Context())
	if text := string(raw(messages)); !strings.Contains(text, `[tea milk]false`) {
		t.Errorf("the second run saw %s", text)
	}
	if _, ok, _ := cart.Of(t.Context(), conv); ok {
		t.Error("it is still there")
	}
	if err := cart.Set(t.Context(), nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("outside a tool: %v", err)
	}
	if err := cart.Update(t.Context(), nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("outside a tool: %v", err)
	}
}

// Ten tools that add to one value at once: nothing is lost, the log has each step of it, and one
// that can no longer be done is an error of that call alone.
func TestParallelUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conv := braid.NewConversation()
		tool := braid.Func("add", "", func(ctx context.Context, in addIn) (string, error) {
			err := total.Update(ctx, func(n int) (int, error) {
				if n+in.A > 45 {
					return 0, errors.New("that is too much")
				}
				return n + in.A, nil
			})
			time.Sleep(time.Duration(in.A) * time.Second) // they all have seen the same
			return "added", err
		})
		var pairs []string
		for i := range 11 {
			pairs = append(pairs, "add", fmt.Sprintf(`{"a":%d,"b":0}`, i))
		}
		r, err := braid.New("a", answers(asksFor(pairs...), says("ok")), tool).Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Metrics.ToolErrors != 1 {
			t.Errorf("%d errors, %v", r.Metrics.ToolErrors, err)
		}
		if n, _, err := total.Of(t.Context(), conv); err != nil || n != 45 {
			t.Errorf("the total is %d, %v", n, err)
		}
		messages, _ := conv.Messages(t.Context())
		if text := string(raw(messages)); !strings.Contains(text, "the state was changed by another call") || !strings.Contains(text, "that is too much") {
			t.Errorf("the model sees %s", text)
		}
	})
}

// The run's state is kept with the run: it is there after a restart, and gone with the next run.
func TestStateOfARunSurvivesARestart(t *testing.T) {
	t.Parallel()
	store := &tailed{}
	ask := braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		phase, _, _ := ofRun.Get(ctx)
		given, ok, _ := tool.State[string](braid.StateTemp + "who").Get(ctx)
		yes, err := braid.Ask[bool](ctx, "Go on?")
		return fmt.Sprint(phase, given, ok, yes), err
	})
	set := braid.Func("set", "", func(ctx context.Context, _ struct{}) (string, error) { return "set", ofRun.Set(ctx, "one") })
	agent := func() *braid.Agent {
		return braid.New("a", answers(asksFor("set", `{}`), asksFor("ask", `{}`), says("ok")), set, ask)
	}
	conv := func() *braid.Conversation { return braid.Open(store, "c") }
	r, err := agent().Run(t.Context(), "go", braid.In(conv()), braid.WithState(map[string]any{"who": "ann"}))
	if err != nil || len(r.Questions) != 1 || string(r.State["who"]) != `"ann"` {
		t.Fatal(err, raw(r.State))
	}
	if err := conv().Answer(t.Context(), r.Questions[0].Token, true); err != nil {
		t.Fatal(err)
	}
	if r, err = agent().Resume(t.Context(), conv(), braid.WithState(map[string]any{"who": "bob"})); err != nil || string(r.State["phase"]) != `"one"` {
		t.Errorf("after the restart: %s, %v", raw(r.State), err)
	}
	messages, _ := conv().Messages(t.Context())
	if text := string(raw(messages)); !strings.Contains(text, "onebobtrue true") {
		t.Errorf("the model sees %s", text)
	}
	if r, err = braid.New("b", answers(says("hi"))).Run(t.Context(), "hi", braid.In(conv())); err != nil || len(r.State) != 0 {
		t.Errorf("the next run has %s, %v", raw(r.State), err)
	}
	for _, bad := range []map[string]any{{"": 1}, {"f": func() {}}, {"\xff": 1}, {"x": json.RawMessage(`{"a":1,"a":2}`)}} {
		if _, err := agent().Run(t.Context(), "go", braid.WithState(bad)); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%v gives %v", bad, err)
		}
	}
}

// What a run was given for itself is gone with it, also where the next one goes on in the same conversation in memory.
func TestStateOfARunIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	look := braid.Func("look", "", func(ctx context.Context, _ struct{}) (string, error) {
		who, ok, err := tool.State[string](braid.StateTemp + "who").Get(ctx)
		return fmt.Sprintf("%q %v", who, ok), err
	})
	conv := braid.NewConversation()
	for _, c := range []struct {
		opts []braid.RunOption
		want string
	}{
		{[]braid.RunOption{braid.WithState(map[string]any{"who": "ann"})}, `"ann" true`},
		{nil, `"" false`},
	} {
		r, err := braid.New("a", answers(asksFor("look", `{}`), says("ok")), look).Run(t.Context(), "go", append(c.opts, braid.In(conv))...)
		if err != nil || len(r.State) != len(c.opts) {
			t.Errorf("%s, %v", raw(r.State), err)
		}
		if seen := allResults(t, conv); seen[len(seen)-1] != c.want {
			t.Errorf("the tool finds %s, want %s", seen[len(seen)-1], c.want)
		}
	}
}

// The state has a version, the same for whoever reads the log, and a change that was made for
// another one is refused.
func TestTheStatesVersion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, store := range map[string]journal.Store{"the whole log": &journal.Memory{}, "its end": &tailed{}} {
		one, two := braid.Open(store, "c"), braid.Open(store, "c")
		if v, err := one.StateVersion(ctx); v != 0 || err != nil {
			t.Errorf("%s: an empty one has %d, %v", name, v, err)
		}
		if err := one.ChangeState(ctx, 0, map[string]any{"total": 1, "old": true}, nil, braid.Executor("import")); err != nil {
			t.Fatal(err)
		}
		v, err := two.StateVersion(ctx)
		if err != nil || v != 2 {
			t.Errorf("%s: the version is %d, %v", name, v, err)
		}
		if err := two.ChangeState(ctx, v, map[string]any{"total": 2}, []string{"old"}); err != nil {
			t.Error(err)
		}
		if err := one.ChangeState(ctx, v, map[string]any{"total": 9}, nil); !errors.Is(err, event.ErrConflict) {
			t.Errorf("%s: a change of what is no longer there: %v", name, err)
		}
		// A run that changes nothing does not raise it, also for who reads only that run.
		if _, err := braid.New("a", answers(says("hi"))).Run(ctx, "hi", braid.In(one), braid.NewSession()); err != nil {
			t.Fatal(err)
		}
		three := braid.Open(store, "c")
		if v, err := three.StateVersion(ctx); v != 5 || err != nil {
			t.Errorf("%s: the version is %d, %v", name, v, err)
		}
		if err := three.ChangeState(ctx, 5, map[string]any{"total": 3}, nil); err != nil {
			t.Error(err)
		}
		if err := three.ChangeState(ctx, braid.AnyVersion, map[string]any{"more": nil}, nil); err != nil {
			t.Error(err)
		}
		if state, err := one.State(ctx); err != nil || string(raw(state)) != `{"more":null,"total":3}` {
			t.Errorf("%s: the state is %s, %v", name, raw(state), err)
		}
		for _, key := range []string{"", "\xff", braid.StateRun + "x", braid.StateTemp + "x"} {
			if err := one.ChangeState(ctx, braid.AnyVersion, map[string]any{key: 1}, nil); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%s: %q gives %v", name, key, err)
			}
		}
		if err := one.ChangeState(ctx, braid.AnyVersion, nil, nil); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: no change gives %v", name, err)
		}
	}
}

// A snapshot is written, read elsewhere, and gone on from; where it was loaded the log keeps what was.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conv := braid.NewConversation()
	set := braid.Func("set", "", func(ctx context.Context, _ struct{}) (string, error) {
		return "kept", errors.Join(total.Set(ctx, 7), ofRun.Set(ctx, "x"), tool.State[any]("app:shared").Set(ctx, 1))
	})
	if _, err := braid.New("a", answers(asksFor("set", `{}`), says("done")), set).Run(ctx, "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	s, err := conv.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.App = json.RawMessage(`{"page":3}`)
	if len(s.Messages) != 4 || s.Agent != "a" || s.Turn != 1 || string(raw(s.State)) != `{"total":7}` {
		t.Errorf("the snapshot is %s", raw(s))
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	read, err := braid.ReadSnapshot(bytes.NewReader(data))
	if err != nil || string(raw(read)) != string(data) {
		t.Fatalf("read back it is %s, %v", raw(read), err)
	}

	store := &tailed{}
	other := braid.Open(store, "other")
	if _, err := braid.New("b", answers(says("before"))).Run(ctx, "a secret", braid.In(other)); err != nil {
		t.Fatal(err)
	}
	if err := other.ChangeState(ctx, braid.AnyVersion, map[string]any{"total": 1, "mine": 2, "user:name": "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Load(ctx, read); err != nil {
		t.Fatal(err)
	}
	other = braid.Open(store, "other")
	messages, err := other.Messages(ctx)
	if err != nil || string(raw(messages)) != string(raw(s.Messages)) {
		t.Errorf("the model sees %s, %v", raw(messages), err)
	}
	if n, _, err := total.Of(ctx, other); n != 7 || err != nil {
		t.Errorf("the total is %d, %v", n, err)
	}
	state, err := other.State(ctx)
	if _, there := state["mine"]; there || err != nil {
		t.Errorf("the state is %s, %v", raw(state), err)
	}
	if _, err := braid.New("a", answers(says("on"))).Run(ctx, "go on", braid.In(other)); err != nil {
		t.Error(err)
	}
	if messages, _ := other.Messages(ctx); len(messages) != 6 || strings.Contains(string(raw(messages)), "a secret") {
		t.Errorf("the next run saw %s", raw(messages))
	}

	// Only the state: the messages stay.
	only, err := conv.Snapshot(ctx, braid.SnapshotState)
	if err != nil || only.Messages != nil {
		t.Fatal(raw(only), err)
	}
	if err := other.ChangeState(ctx, braid.AnyVersion, map[string]any{"total": 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Load(ctx, only); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := total.Of(ctx, other); n != 7 {
		t.Errorf("the total is %d", n)
	}
	if messages, _ := other.Messages(ctx); len(messages) != 6 {
		t.Errorf("the messages are %s", raw(messages))
	}

	for _, bad := range []string{
		``, `null`, `[]`, `{}`, `{"schema":2,"fields":["state"]}`, `{"schema":1,"fields":[]}`, `{"schema":1,"fields":["all"]}`,
		`{"schema":1,"fields":["state"],"more":1}`, `{"schema":1,"schema":1,"fields":["state"]}`, `{"schema":1,"fields":["state"],"state":{"":1}}`,
		`{"schema":1,"fields":["messages"],"messages":[{"role":"system","content":[{"kind":"text","text":"x"}]}]}`,
	} {
		if s, err := braid.ReadSnapshot(strings.NewReader(bad)); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s gives %s, %v", bad, raw(s), err)
		}
	}
	if _, err := conv.Snapshot(ctx, "all"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("an unknown field gives %v", err)
	}
	if err := conv.Load(ctx, nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("nil gives %v", err)
	}
}

// While a run waits nothing is loaded or changed from outside, and its snapshot is a valid history.
func TestASnapshotOfAWaitingRun(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	ask := braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") })
	r, err := braid.New("a", answers(asksFor("ask", `{}`)), ask).Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Stop != event.StopQuestion {
		t.Fatal(err)
	}
	s, err := conv.Snapshot(t.Context())
	if err != nil || len(s.Messages) != 1 {
		t.Errorf("%s, %v", raw(s), err)
	}
	if err := conv.Load(t.Context(), s); !errors.Is(err, event.ErrConflict) {
		t.Errorf("loading gives %v", err)
	}
	if err := conv.ChangeState(t.Context(), braid.AnyVersion, map[string]any{"a": 1}, nil); !errors.Is(err, event.ErrConflict) {
		t.Errorf("changing gives %v", err)
	}
	if err := braid.NewConversation().Load(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// A result always has a state, so that it is {} in JSON and not null.
func TestAResultHasAState(t *testing.T) {
	t.Parallel()
	r, err := braid.New("a", answers(says("hello"))).Run(t.Context(), "go")
	if err != nil || r.State == nil || string(raw(r.State)) != "{}" {
		t.Errorf("the state is %s: %v", raw(r.State), err)
	}
}
