package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

func upper(_ context.Context, in string) (string, error) { return strings.ToUpper(in), nil }

func TestAFunctionIsAnAgent(t *testing.T) {
	t.Parallel()
	type order struct {
		Item  string `json:"item"`
		Count int    `json:"count"`
	}
	price := func(_ context.Context, o order) (map[string]int, error) {
		return map[string]int{"cents": 5 * o.Count}, nil
	}
	count := func(_ context.Context, in []event.Block) (int, error) { return len(in), nil }
	for name, c := range map[string]struct {
		agent       *braid.Agent
		input, want string
	}{
		"a text":        {Func("up", upper, tool.Pure()), "go", "GO"},
		"a struct":      {Func("price", price, tool.Pure()), `{"item":"nut","count":3}`, `{"cents":15}`},
		"blocks":        {Func("count", count, tool.Pure()), "go", "1"},
		"a list":        {Func("list", func(_ context.Context, in []int) (int, error) { return in[0] + in[1], nil }, tool.Pure()), "[1,2]", "3"},
		"in a sequence": {Sequence("s", agent("a"), Func("up", upper, tool.Pure()), agent("b")), "go", "b(A(GO))"},
		"as a tool": {
			braid.New("boss", &echo{name: "boss", tool: "up"}, braid.AsTool(Func("up", upper, tool.Pure()), "Shouts.")), "go", "boss(GO)",
		},
	} {
		conv := braid.NewConversation()
		for range 2 {
			r, err := c.agent.Run(t.Context(), c.input, braid.In(conv))
			if err != nil || r.Status != event.RunCompleted || r.Text() != c.want && name != "as a tool" {
				t.Errorf("%s: %q, %s, %v", name, r.Text(), r.Status, err)
			}
		}
	}
}

func TestWhatAFunctionSays(t *testing.T) {
	t.Parallel()
	speak := func(ctx context.Context, in string) (string, error) {
		err := errors.Join(Emit(ctx, "one "+in), Emit(ctx, "two"), tool.State[int]("run:n").Set(ctx, 7))
		Escalate(ctx, "enough")
		return "three", err
	}
	for name, a := range map[string]*braid.Agent{"alone": Func("f", speak), "below": Sequence("s", Func("f", speak))} {
		conv := braid.NewConversation()
		r, err := a.Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Text() != "three" || string(r.State["n"]) != "7" {
			t.Errorf("%s: %q, %v, %s", name, r.Text(), err, r.State["n"])
		}
		var said []string
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Author != "f" {
				continue
			}
			switch b := e.Body.(type) {
			case *event.AssistantMessage:
				if text := event.TextOf(b.Content); text != "" {
					said = append(said, text)
				}
			case *event.StateChanged:
				said = append(said, "state")
			case *event.Escalated:
				said = append(said, "escalated: "+b.Reason)
			}
		}
		if want := []string{"state", "one go", "two", "escalated: enough", "three"}; !slices.Equal(said, want) {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
	}
	if err := Emit(t.Context(), "x"); err == nil {
		t.Error("nobody hears that")
	}
	loud := braid.Func("look", "Speaks.", func(ctx context.Context, _ input) (string, error) { return "", Emit(ctx, "x") })
	r, err := braid.New("a", &echo{name: "a", tool: "look"}, loud).Run(t.Context(), "go")
	if err != nil || !strings.Contains(r.Text(), "cannot speak for its agent") {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// What goes wrong in a function is the recorded error of its agent.
func TestAFunctionThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * time.Hour) // what hangs returns
		for name, c := range map[string]struct {
			agent *braid.Agent
			kind  event.ErrorKind
			want  string
		}{
			"an error": {Func("f", func(context.Context, string) (string, error) { return "", errors.New("no luck") }), event.ErrInternal, "no luck"},
			"a panic":  {Func("f", func(context.Context, string) (string, error) { panic("oh") }), event.ErrInternal, "panicked"},
			"a time-out": {
				Func("f", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }, tool.Timeout(time.Second)),
				event.ErrTimeout, "",
			},
			"one that hangs": {
				Func("f", func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "", nil }, tool.Timeout(time.Second)),
				event.ErrTimeout, "did not return in time",
			},
			"another input": {Func("f", func(_ context.Context, in struct{ N int }) (int, error) { return in.N, nil }), event.ErrInvalid, "not JSON of the type"},
			"no JSON":       {Func("f", func(context.Context, string) (any, error) { return make(chan int), nil }), event.ErrInternal, "written as JSON"},
			"nothing":       {Func[string, string]("f", nil), event.ErrInvalid, "is nil"},
		} {
			conv := braid.NewConversation()
			r, err := Sequence("s", c.agent).Run(t.Context(), "go", braid.In(conv))
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "nothing" {
				continue
			}
			if r.Status != event.RunFailed || !slices.ContainsFunc(opened(t, conv), func(s string) bool { return strings.HasPrefix(s, "f1 failed") }) {
				t.Errorf("%s: %s, %q", name, r.Status, opened(t, conv))
			}
		}
	})
}

// A function that failed and may be tried again is.
func TestAFunctionIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * time.Hour) // what hangs returns
		tries := 0
		f := Func("f", func(context.Context, string) (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("not yet")
			}
			return "done", nil
		}, tool.Pure(), tool.Retries(tool.Retry{Attempts: 3}))
		if r, err := f.Run(t.Context(), "go"); err != nil || r.Text() != "done" || tries != 3 {
			t.Errorf("%q, %d tries, %v", r.Text(), tries, err)
		}
	})
}

// A function asks, and the run waits.
func TestAFunctionAsks(t *testing.T) {
	t.Parallel()
	gate := Func("gate", func(ctx context.Context, in string) (string, error) {
		word, err := braid.Ask[string](ctx, "Go on with "+in+"?")
		return in + " " + word, err
	}, tool.Pure())
	conv := braid.NewConversation()
	s := Sequence("s", agent("a"), gate, agent("b"))
	r, err := s.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 {
		t.Fatal(err, r.Status, r.Questions)
	}
	if err := conv.Answer(t.Context(), r.Questions[0].Token, "yes"); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Resume(t.Context(), conv); err != nil || r.Text() != "b(a(go) yes)" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// After a crash, the effect of a function decides. A finished one never runs again.
func TestAFunctionAfterACrash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  []tool.Option
		again int32
		want  string
	}{
		"pure":       {[]tool.Option{tool.Pure()}, 1, ""},
		"idempotent": {[]tool.Option{tool.Idempotent()}, 1, ""},
		"unsafe":     {nil, 0, "in doubt"},
	} {
		var ran atomic.Int32
		made := func() *braid.Agent {
			return Sequence("s", Func("f", func(ctx context.Context, in string) (string, error) {
				ran.Add(1)
				return in + "!", errors.Join(Emit(ctx, "x"), tool.State[int]("run:n").Set(ctx, 1))
			}, c.opts...), Func("g", upper, tool.Pure()))
		}
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		if r, err := made().Run(t.Context(), "go", braid.In(braid.Open(store, "c"))); err != nil || r.Text() != "GO!" {
			t.Fatal(r.Text(), err)
		}
		begun := slices.IndexFunc(store.log, func(e *event.Event) bool { return e.Body.Kind() == event.KindStepBegun }) + 1
		ended := slices.IndexFunc(store.log, func(e *event.Event) bool { return e.Body.Kind() == event.KindStepEnded }) + 1
		for _, n := range store.ends[:len(store.ends)-1] {
			ran.Store(0)
			r, err := made().Resume(t.Context(), cut(t, store.log, n, "s"))
			runs := int32(1)
			switch {
			case n >= ended:
				runs = 0
			case n >= begun:
				runs = c.again
			}
			if got := ran.Load(); got != runs {
				t.Errorf("%s, cut after event %d: it ran %d times, want %d", name, n, got, runs)
			}
			if inDoubt := n >= begun && n < ended && c.want != ""; inDoubt {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, cut after event %d: %v", name, n, err)
				}
			} else if err != nil || r.Text() != "GO!" || string(r.State["n"]) != "1" {
				t.Errorf("%s, cut after event %d: %q, %v, %s", name, n, r.Text(), err, r.State["n"])
			}
		}
	}
}

// asks is a kind that works while its condition says so.
type asks struct {
	decide func(ctx context.Context, s Scope) (any, error)
}

func (asks) Next(s Scope) Command {
	n := len(s.Children)
	switch {
	case n > 0 && s.Children[n-1].Open:
		return Command{}
	case len(s.Decisions) == n:
		return Command{Decide: fmt.Sprint("more ", n)}
	}
	switch d := s.Decision(fmt.Sprint("more ", n)); {
	case d.Err != nil:
		return Command{Finish: true, Err: d.Err}
	case d.Yes():
		return Command{Open: []Opening{{Agent: s.Agents[0], Input: s.Input}}}
	}
	return Command{Finish: true, Output: []event.Block{&event.Text{Text: fmt.Sprint(n)}}}
}

func (a asks) Decide(ctx context.Context, _ string, s Scope) (any, error) { return a.decide(ctx, s) }

// A decision is made once. A resumed run reads it.
func TestADecisionIsMadeOnce(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	more := func(ctx context.Context, s Scope) (any, error) {
		made.Add(1)
		count := tool.State[int]("run:count")
		n, _, err := count.Get(ctx)
		return len(s.Children) < 3, errors.Join(err, count.Set(ctx, n+1))
	}
	flow := func() *braid.Agent { return braid.NewFlow("s", asks{more}, Func("f", upper, tool.Pure())) }
	store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
	r, err := flow().Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
	if err != nil || r.Text() != "3" || string(r.State["count"]) != "4" || made.Load() != 4 {
		t.Fatalf("%q, %v, %s, made %d times", r.Text(), err, r.State["count"], made.Load())
	}
	for _, n := range store.ends[:len(store.ends)-1] {
		had := int32(0)
		for _, e := range store.log[:n] {
			if e.Body.Kind() == event.KindDecided {
				had++
			}
		}
		made.Store(0)
		r, err := flow().Resume(t.Context(), cut(t, store.log, n, "s"))
		if err != nil || r.Text() != "3" || string(r.State["count"]) != "4" || made.Load()+had != 4 {
			t.Errorf("cut after event %d: %q, %v, %s, made %d times after %d", n, r.Text(), err, r.State["count"], made.Load(), had)
		}
	}
}

// What goes wrong in a decision is recorded, and bounded in time.
func TestADecisionThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * time.Hour) // what hangs returns
		for name, c := range map[string]struct {
			decide func(context.Context, Scope) (any, error)
			kind   event.ErrorKind
			want   string
		}{
			"an error":        {func(context.Context, Scope) (any, error) { return nil, errors.New("no luck") }, event.ErrInternal, "no luck"},
			"a panic":         {func(context.Context, Scope) (any, error) { panic("oh") }, event.ErrInternal, "panicked: oh"},
			"one that blocks": {func(context.Context, Scope) (any, error) { time.Sleep(time.Hour); return true, nil }, event.ErrTimeout, "within 10s"},
			"no JSON":         {func(context.Context, Scope) (any, error) { return make(chan int), nil }, event.ErrInvalid, "as JSON"},
			"a question": {
				func(ctx context.Context, _ Scope) (any, error) { return braid.Ask[bool](ctx, "So?") }, event.ErrInternal, "cannot ask",
			},
			"too much": {func(context.Context, Scope) (any, error) { return strings.Repeat("x", 1<<24), nil }, event.ErrTooLarge, "the limit is"},
		} {
			conv := braid.NewConversation()
			r, err := braid.NewFlow("s", asks{c.decide}, agent("a")).Run(t.Context(), "go", braid.In(conv))
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) || r.Status != event.RunFailed {
				t.Errorf("%s: %v, %s", name, err, r.Status)
			}
			found := false
			for e, err := range conv.Events(t.Context(), 0) {
				b, ok := e.Body.(*event.Decided)
				found = found || err == nil && ok && b.Err != nil && b.Value == nil
			}
			if !found {
				t.Errorf("%s: the log has no such decision", name)
			}
		}
	})
}

// first answer wins: race is a kind that closes the others.
type racing struct{}

func (racing) Next(s Scope) Command {
	if len(s.Children) == 0 {
		var open []Opening
		for _, a := range s.Agents {
			open = append(open, Opening{Agent: a, Node: a, Input: s.Input, Branch: "race." + a})
		}
		return Command{Open: open}
	}
	var cmd Command
	for i, c := range s.Children {
		if c.Ended == 1 {
			cmd.Finish, cmd.Output = true, c.Output
		}
		if c.Open {
			cmd.Close = append(cmd.Close, Closing{Child: i})
		}
	}
	if !cmd.Finish {
		cmd.Close = nil
	}
	return cmd
}

// A kind closes children: what they run is cancelled, and what does not stop is left behind and named.
func TestAKindClosesChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * time.Hour) // what hangs returns
		stopped := false
		wait := Func("wait", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			stopped = true
			return "", ctx.Err()
		}, tool.Pure())
		deaf := Func("deaf", func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "", nil })
		quick := Func("quick", func(context.Context, string) (string, error) { time.Sleep(time.Second); return "won", nil }, tool.Pure())
		tools := braid.New("tools", &echo{name: "tools", tool: "look"}, braid.Func("look", "Waits.", func(ctx context.Context, _ input) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		conv := braid.NewConversation()
		r, err := Sequence("s", braid.NewFlow("race", racing{}, wait, deaf, quick, Sequence("deep", tools)), agent("a")).Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Text() != "a(won)" || !stopped {
			t.Fatalf("%q, %v, %v", r.Text(), err, stopped)
		}
		if r.Metrics.Stragglers != 1 {
			t.Errorf("%d stragglers", r.Metrics.Stragglers)
		}
		branches, closed := map[string]string{}, 0
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.ScopeClosed); ok && b.Why == event.WhyCancelled && b.Err.Kind == event.ErrCancelled {
				closed++
			}
			branches[e.Scope] = e.Branch
		}
		if closed != 4 { // wait, deaf, deep, tools
			t.Errorf("%d scopes were cancelled", closed)
		}
		if got, _ := json.Marshal(branches); !strings.Contains(string(got), `"f1/f4/f1":"race.deep"`) || branches["f1/f1"] != "race.wait" || branches["f2"] != "" {
			t.Errorf("%s", got)
		}
	})
}

// narrow is a kind that says what its decision reads.
type narrow struct {
	asks

	reads func(Scope) Scope
}

func (n narrow) Narrow(_ string, s Scope) Scope { return n.reads(s) }

// A decision gets a copy of what its kind narrows the scope to. A panic there is the decision's error.
func TestADecisionReadsWhatItsKindNarrows(t *testing.T) {
	t.Parallel()
	newest := func(s Scope) Scope { return Scope{Children: s.Children[max(len(s.Children)-1, 0):]} }
	read := []int{}
	more := func(_ context.Context, s Scope) (any, error) {
		read = append(read, len(s.Children))
		for i := range s.Children {
			s.Children[i].Open = true // it changes the copy alone
		}
		return len(read) < 4, nil
	}
	flow := func(reads func(Scope) Scope) *braid.Agent {
		return braid.NewFlow("s", narrow{asks{more}, reads}, Func("f", upper, tool.Pure()))
	}
	if r, err := flow(newest).Run(t.Context(), "go"); err != nil || r.Text() != "3" || !slices.Equal(read, []int{0, 1, 1, 1}) {
		t.Errorf("%q, %v, it read %v", r.Text(), err, read)
	}
	_, err := flow(func(Scope) Scope { panic("oh") }).Run(t.Context(), "go")
	if e, ok := errors.AsType[*event.Error](err); !ok || e.Kind != event.ErrInternal || !strings.Contains(e.Message, "panicked: oh") {
		t.Errorf("%v", err)
	}
}
