package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// counts is a function that counts its calls in the state, and escalates at a number.
func counts(name string, escalates int) *braid.Agent {
	return Func(name, func(ctx context.Context, in string) (string, error) {
		key := tool.State[int]("run:" + name)
		n, _, err := key.Get(ctx)
		n++
		if n == escalates {
			Escalate(ctx, "enough")
		}
		return fmt.Sprint(in, name, n, " "), errors.Join(err, key.Set(ctx, n))
	}, tool.Pure())
}

func TestLoop(t *testing.T) {
	t.Parallel()
	until := func(_ context.Context, answer string) (bool, error) { return strings.Contains(answer, "b3"), nil }
	fails := func(context.Context, string) (bool, error) { return false, errors.New("no idea") }
	brief := Mapped(func(_ context.Context, s Scope, agent string) ([]event.Block, error) {
		return []event.Block{&event.Text{Text: fmt.Sprint(agent, "?", len(s.Children), " ")}}, nil
	})
	for name, c := range map[string]struct {
		agent *braid.Agent
		want  string
		err   string
	}{
		"to its maximum":      {Loop("l", LoopOptions{Max: 2}, counts("a", 0), counts("b", 0)), "a1 b1 a2 b2 ", ""},
		"until it escalates":  {Loop("l", LoopOptions{Max: 9}, counts("a", 2), counts("b", 0)), "a1 b1 a2 ", ""},
		"until a condition":   {Loop("l", LoopOptions{Until: until}, counts("a", 0), counts("b", 0)), "a1 b1 a2 b2 a3 b3 ", ""},
		"a condition fails":   {Loop("l", LoopOptions{Until: fails}, counts("a", 0)), "", "no idea"},
		"an agent fails":      {Loop("l", LoopOptions{}, counts("a", 0), after("bad", 0)), "", "bad is down"},
		"endless":             {Loop("l", LoopOptions{}, counts("a", 0)).Use(braid.Limit(braid.Limits{Scopes: 20})), "", "as many agents"},
		"of nobody":           {Loop("l", LoopOptions{}), "go: ", ""},
		"by a mapping":        {Loop("l", LoopOptions{Max: 2, Input: brief}, counts("a", 0), counts("b", 0)), "b?3 b2 ", ""},
		"inside of a loop":    {Loop("o", LoopOptions{Max: 2}, Loop("i", LoopOptions{Max: 9}, counts("a", 2))), "a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 ", ""},
		"through a sequence":  {Loop("l", LoopOptions{Max: 9}, Sequence("s", counts("a", 2), counts("b", 0))), "a1 b1 a2 b2 ", ""},
		"through a parallel":  {Loop("l", LoopOptions{Max: 9}, Parallel("p", ParallelOptions{}, counts("a", 2))), "a1 a2 ", ""},
		"escalated by a tool": {Loop("l", LoopOptions{Max: 9}, braid.New("a", &echo{name: "a", tool: "look"}, leaves())), "a(gone)", ""},
	} {
		r, err := c.agent.Run(t.Context(), "go: ")
		want := c.want
		if strings.HasPrefix(want, "a1") {
			want = "go: " + want
		}
		if err == nil && r.Text() != want || (err != nil) != (c.err != "") || !strings.Contains(fmt.Sprint(err), c.err) {
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		}
	}
}

func leaves() *braid.FuncTool {
	return braid.Func("look", "Leaves.", func(ctx context.Context, _ input) (string, error) {
		Escalate(ctx, "")
		return "gone", nil
	}, tool.Pure())
}

// With Everything an agent sees what was asked and what the others said, as ADK shows it.
func TestALoopWithEverything(t *testing.T) {
	t.Parallel()
	r, err := Loop("l", LoopOptions{Max: 1, Input: Everything}, agent("a"), agent("b"), agent("c")).Run(t.Context(), "go")
	a, b := "a(go)", "b(go\nFor context:\n[a] said: a(go))"
	want := "c(go\nFor context:\n[a] said: " + a + "\nFor context:\n[b] said: " + b + ")"
	if err != nil || strings.ReplaceAll(r.Text(), "\n", "") != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("%q, want %q, %v", r.Text(), want, err)
	}
}

// Kinds nest eight levels deep, and are tools.
func TestEightLevels(t *testing.T) {
	t.Parallel()
	a := counts("f", 0)
	for i := range 7 {
		name := fmt.Sprint("n", i)
		switch i % 4 {
		case 0:
			a = Sequence(name, a)
		case 1:
			a = Parallel(name, ParallelOptions{}, a)
		case 2:
			a = Loop(name, LoopOptions{Max: 2}, a)
		default:
			a = Sequence(name, braid.New("boss"+name, &echo{name: "boss", tool: a.Name()}, braid.AsTool(a, "Works.")))
		}
	}
	a.Use(braid.Limit(braid.Limits{Depth: 20, Scopes: 200}))
	r, err := a.Run(t.Context(), "go:")
	if err != nil || r.Text() != "boss(boss(go:f1 f2 )f3 f4 )" && !strings.Contains(r.Text(), "f4") {
		t.Errorf("%q, %v", r.Text(), err)
	}
	outer := braid.New("outer", &echo{name: "outer", tool: "n6"}, braid.AsTool(a, "Works."), braid.Limit(braid.Limits{Depth: 20, Scopes: 200}))
	if r, err = outer.Run(t.Context(), "go:"); err != nil || !strings.HasPrefix(r.Text(), "outer(") || !strings.Contains(r.Text(), "f4") {
		t.Errorf("%q, %v", r.Text(), err)
	}
}
