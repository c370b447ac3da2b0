package flow

import (
	"context"
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
	"github.com/braidrun/braid/tool"
)

// after is a function that takes some seconds, and fails if its name begins with "bad".
func after(name string, seconds int) *braid.Agent {
	return Func(name, func(ctx context.Context, in string) (string, error) {
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if strings.HasPrefix(name, "bad") {
			return "", &event.Error{Kind: event.ErrUnavailable, Message: name + " is down"}
		}
		return name + " " + in, nil
	}, tool.Pure())
}

func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := func(_ context.Context, results []Child) ([]event.Block, error) {
			text := ""
			for _, r := range results {
				text += fmt.Sprint(r.Node, " ", r.Err == nil, ";")
			}
			return []event.Block{&event.Text{Text: text}}, nil
		}
		for name, c := range map[string]struct {
			o      ParallelOptions
			agents []*braid.Agent
			want   string
			err    string
			took   int
		}{
			"in order":       {agents: []*braid.Agent{after("a", 3), after("b", 1)}, want: "a gob go", took: 3},
			"joined":         {ParallelOptions{Merge: Join(", ")}, []*braid.Agent{after("a", 3), after("b", 1)}, "a go, b go", "", 3},
			"by a function":  {ParallelOptions{Merge: names}, []*braid.Agent{after("a", 3), after("b", 1)}, "a true;b true;", "", 3},
			"two at once":    {ParallelOptions{AtOnce: 2}, []*braid.Agent{after("a", 2), after("b", 2), after("c", 2), after("d", 1)}, "a gob goc god go", "", 4},
			"first error":    {ParallelOptions{}, []*braid.Agent{after("a", 9), after("bad", 1)}, "", "bad is down", 1},
			"error in order": {ParallelOptions{AtOnce: 1}, []*braid.Agent{after("a", 1), after("bad", 1), after("c", 1)}, "", "bad is down", 2},
			"all":            {ParallelOptions{Policy: All, Merge: names}, []*braid.Agent{after("a", 3), after("bad", 1)}, "a true;bad false;", "", 3},
			"all, in order":  {ParallelOptions{Policy: All}, []*braid.Agent{after("a", 3), after("bad", 1)}, "a go", "", 3},
			"all fail":       {ParallelOptions{Policy: All, Merge: names}, []*braid.Agent{after("bad", 3), after("bad2", 1)}, "", "bad2 is down", 3},
			"race":           {ParallelOptions{Policy: Race}, []*braid.Agent{after("a", 9), after("b", 2), after("bad", 1)}, "b go", "", 2},
			"race, all fail": {ParallelOptions{Policy: Race}, []*braid.Agent{after("bad", 3), after("bad2", 1)}, "", "bad2 is down", 3},
			"nobody":         {ParallelOptions{}, nil, "", "", 0},
			"one twice":      {ParallelOptions{AtOnce: 1}, []*braid.Agent{agent("x"), agent("y")}, "x(go)y(go)", "", 0},
			"a wrong merge": {
				ParallelOptions{Merge: func(context.Context, []Child) ([]event.Block, error) { panic("oh") }},
				[]*braid.Agent{after("a", 1)},
				"", "panicked: oh", 1,
			},
			"a merge to calls": {
				ParallelOptions{Merge: func(context.Context, []Child) ([]event.Block, error) {
					return []event.Block{&event.ToolCall{ID: "x", Name: "x"}, &event.Text{Text: "t"}}, nil
				}}, []*braid.Agent{after("a", 1)}, "t", "", 1,
			},
		} {
			begun := time.Now()
			r, err := Sequence("s", Parallel("p", c.o, c.agents...)).Run(t.Context(), "go")
			if got := strings.ReplaceAll(r.Text(), "\n", ""); got != c.want && c.err == "" || (err != nil) != (c.err != "") || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if took := time.Since(begun); took != time.Duration(c.took)*time.Second {
				t.Errorf("%s took %s", name, took)
			}
		}
	})
}

// Each loser of a race is closed with a reason that names the winner.
func TestTheLosersOfARace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conv := braid.NewConversation()
		p := Parallel("p", ParallelOptions{Policy: Race}, after("slow", 9), after("quick", 1), Sequence("long", after("deep", 9)))
		if r, err := p.Run(t.Context(), "go", braid.In(conv)); err != nil || r.Text() != "quick go" {
			t.Fatal(r.Text(), err)
		}
		var lost []string
		for e, err := range conv.Events(t.Context(), 0) {
			if b, ok := e.Body.(*event.ScopeClosed); err == nil && ok && b.Why == event.WhyCancelled {
				lost = append(lost, b.ID+": "+b.Err.Message)
			}
		}
		words := `: the agent was stopped, because "quick" was quicker`
		slices.Sort(lost)
		if want := []string{"f1" + words, "f3/f1" + words, "f3" + words}; !slices.Equal(lost, want) {
			t.Errorf("%q", lost)
		}
	})
}

func TestTheBranchesOfParallelAgents(t *testing.T) {
	t.Parallel()
	inner := Parallel("in.ner", ParallelOptions{}, agent("x"), agent("y"))
	p := Parallel("p", ParallelOptions{}, agent("a"), Sequence("b", inner), agent("a.1"))
	conv := braid.NewConversation()
	if _, err := p.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	branches := map[string]string{}
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if had, known := branches[e.Author]; known && had != e.Branch && e.Body.Kind() != event.KindScopeOpened {
			t.Errorf("%s has the branches %q and %q", e.Author, had, e.Branch)
		}
		if _, opens := e.Body.(*event.ScopeOpened); !opens {
			branches[e.Author] = e.Branch
		}
	}
	for author, want := range map[string]string{
		"user": "", "p": "", "a": "p.a", "b": "p.b", "in.ner": "p.b", "x": "p.b.in_ner.x", "y": "p.b.in_ner.y", "a.1": "p.a_1",
	} {
		if branches[author] != want {
			t.Errorf("%s has the branch %q, want %q", author, branches[author], want)
		}
	}
	if event.Sees("p.a", "p.a_1") || !event.Sees("p.b.in_ner.x", "p.b") {
		t.Error("branches see the wrong ones")
	}
}

// Ten branches ask, and their questions are answered in any order.
func TestTenBranchesAsk(t *testing.T) {
	t.Parallel()
	for round, atOnce := range []int{0, 3} {
		var agents []*braid.Agent
		for i := range 10 {
			agents = append(agents, Func(fmt.Sprint("f", i), func(ctx context.Context, _ string) (string, error) {
				word, err := braid.Ask[string](ctx, fmt.Sprint(i))
				return fmt.Sprint(i, word), err
			}, tool.Pure()))
		}
		p := Parallel("p", ParallelOptions{AtOnce: atOnce, Merge: Join(" ")}, agents...)
		conv := braid.NewConversation()
		r, err := p.Run(t.Context(), "go", braid.In(conv))
		for n := 0; err == nil && r.Status == event.RunWaiting; n++ {
			if want := min(10-n, 10); atOnce == 0 && len(r.Questions) != want || n > 10 {
				t.Fatalf("%d questions, want %d", len(r.Questions), want)
			}
			q := r.Questions[(n*7+round)%len(r.Questions)]
			if err := conv.Answer(t.Context(), q.Token, "!"+q.Prompt); err != nil {
				t.Fatal(err)
			}
			r, err = p.Resume(t.Context(), conv)
		}
		if err != nil || r.Text() != "0!0 1!1 2!2 3!3 4!4 5!5 6!6 7!7 8!8 9!9" {
			t.Errorf("%q, %v", r.Text(), err)
		}
	}
}

// A key of the state that two branches have changed is reported.
func TestConflictsOfState(t *testing.T) {
	t.Parallel()
	sets := func(name string, keys ...string) *braid.Agent {
		return Func(name, func(ctx context.Context, _ string) (string, error) {
			var err error
			for _, k := range keys {
				err = errors.Join(err, tool.State[string](k).Set(ctx, name))
			}
			return name, err
		}, tool.Pure())
	}
	conv := braid.NewConversation()
	p := Parallel("p", ParallelOptions{AtOnce: 1}, sets("a", "x", "y"), Sequence("b", sets("deep", "x"), sets("deep2", "x", "z")), sets("c", "w"))
	if _, err := p.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var notices []string
	for e, err := range conv.Events(t.Context(), 0) {
		if n, ok := e.Body.(*event.Notice); err == nil && ok {
			notices = append(notices, n.Code+": "+n.Text+" "+string(n.Data))
		}
	}
	if want := []string{`state_conflict: "x" was changed by a, b {"x":["a","b"]}`}; !slices.Equal(notices, want) {
		t.Errorf("%q, want %q", notices, want)
	}
}

// A failed parallel agent that is continued goes on with what is missing.
func TestAParallelIsContinued(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	var ran atomic.Int32
	down.Store(true)
	flaky := Func("flaky", func(context.Context, string) (string, error) {
		if down.Load() {
			return "", errors.New("down")
		}
		return "up", nil
	}, tool.Pure())
	once := Func("once", func(context.Context, string) (string, error) { ran.Add(1); return "once", nil }, tool.Pure())
	p := Parallel("p", ParallelOptions{AtOnce: 1, Merge: Join(" ")}, agent("a"), flaky, once)
	all := Parallel("all", ParallelOptions{Policy: Race}, flaky)
	for name, a := range map[string]*braid.Agent{"p": p, "sequence": Sequence("s", p)} {
		down.Store(true)
		ran.Store(0)
		conv := braid.NewConversation()
		if _, err := a.Run(t.Context(), "go", braid.In(conv)); err == nil {
			t.Fatal("it is not down")
		}
		down.Store(false)
		if r, err := a.Resume(t.Context(), conv); err != nil || r.Text() != "a(go) up once" || ran.Load() != 1 {
			t.Errorf("%s: %q, %v, %d", name, r.Text(), err, ran.Load())
		}
	}
	if r, err := all.Run(t.Context(), "go"); err != nil || r.Text() != "up" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// Ten thousand branches are many, but no problem.
func TestTenThousandBranches(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 10_000
	one := Func("f", upper, tool.Pure())
	agents := slices.Repeat([]*braid.Agent{one}, n)
	var now, most atomic.Int32
	agents[0] = Func("g", func(context.Context, string) (string, error) {
		most.Store(max(most.Load(), now.Add(1)))
		now.Add(-1)
		return "g", nil
	})
	p := Parallel("p", ParallelOptions{AtOnce: 50}, agents...).Use(braid.Limit(braid.Limits{Scopes: n + 1}))
	begun := time.Now()
	r, err := p.Run(t.Context(), "x")
	if err != nil || len(r.Message.Content) != n {
		t.Errorf("%d, %v", len(r.Message.Content), err)
	}
	t.Logf("%d branches took %s", n, time.Since(begun))
}
