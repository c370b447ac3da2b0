package flow

import (
	"context"
	"slices"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// everyCut runs an agent, and resumes it from every commit of its log. check looks at each end.
func everyCut(t *testing.T, name string, made func() *braid.Agent, check func(*testing.T, *braid.Result, error)) {
	t.Helper()
	store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
	r, err := made().Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
	check(t, r, err)
	if len(store.ends) < 3 {
		t.Errorf("only %d commits", len(store.ends))
	}
	for _, n := range store.ends[:max(0, len(store.ends)-1)] {
		conv := cut(t, store.log, n, name)
		r, err := made().Resume(t.Context(), conv)
		check(t, r, err)
	}
}

// looped is a graph with conditions, a cycle, a fan-out, a caught failure and a graph in a node.
func looped() *braid.Agent {
	inner := Graph{Name: "inner", Nodes: funcs("i1", "i2"), Edges: []Edge{{From: "i1", To: "i2"}}}
	count := 0
	nodes := append(funcs("draft", "check", "left", "right", "join", "rescue"), Node{Name: "inner", Agent: inner.Agent()},
		Node{Name: "bad", Agent: Func("bad", func(context.Context, string) (string, error) { count++; panic("bad") }, tool.Pure()), Retries: 1})
	return Graph{
		Name: "g", Nodes: with(with(nodes, "draft", func(n *Node) { n.Visits, n.FanIn = 5, FanInAny }), "join", func(n *Node) { n.Feed = FeedOutputs }),
		Entry: []string{"draft"},
		Edges: []Edge{
			{From: "draft", To: "check"},
			{From: "check", To: "draft", If: When("twice", func(_ context.Context, v Visit) (bool, error) { return v.Number < 3, nil })},
			{From: "check", To: "left", Else: true},
			{From: "left", To: "right"},
			{From: "left", To: "inner"},
			{From: "left", To: "bad"},
			{From: "bad", To: "rescue", Failed: true},
			{From: "right", To: "join"},
			{From: "inner", To: "join"},
			{From: "rescue", To: "join"},
		},
	}.Agent()
}

// Wherever the driver of a graph dies, the next one goes on to the same end.
func TestAGraphGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	var want string
	everyCut(t, "g", looped, func(t *testing.T, r *braid.Result, err error) {
		t.Helper()
		if want == "" {
			want = r.Text()
		}
		if err != nil || r.Text() != want || r.Text() == "" {
			t.Errorf("%q, want %q, %v", r.Text(), want, err)
		}
	})
}

// A condition that the log has is not asked again, and a node that ended does not run again.
func TestAGraphRepeatsNothing(t *testing.T) {
	t.Parallel()
	var ran []string
	node := func(name string) Node {
		return Node{Name: name, Agent: Func(name, func(context.Context, string) (string, error) {
			ran = append(ran, name)
			return name, nil
		}, tool.Pure())}
	}
	made := func() *braid.Agent {
		return Graph{
			Name: "g", Nodes: []Node{node("a"), node("b"), node("c")},
			Edges: []Edge{
				{From: "a", To: "b", If: When("if", func(context.Context, Visit) (bool, error) { ran = append(ran, "if"); return true, nil })}, {From: "b", To: "c"},
			},
		}.Agent()
	}
	store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
	if _, err := made().Run(t.Context(), "go", braid.In(braid.Open(store, "c"))); err != nil || !slices.Equal(ran, []string{"a", "if", "b", "c"}) {
		t.Fatal(ran, err)
	}
	for _, n := range store.ends[:len(store.ends)-1] {
		ran = nil
		if r, err := made().Resume(t.Context(), cut(t, store.log, n, "g")); err != nil || r.Text() != "c" {
			t.Fatal(r.Text(), err)
		}
		if !slices.IsSortedFunc(ran, func(a, b string) int {
			return slices.Index([]string{"a", "if", "b", "c"}, a) - slices.Index([]string{"a", "if", "b", "c"}, b)
		}) {
			t.Errorf("cut after event %d: %q", n, ran)
		}
		if len(ran) != len(slices.Compact(slices.Clone(ran))) {
			t.Errorf("cut after event %d: %q is repeated", n, ran)
		}
	}
}
