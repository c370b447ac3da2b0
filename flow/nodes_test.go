package flow

import (
	"testing"

	"github.com/braidrun/braid"
)

// The result says what each node used, with everything below it; the sum is the run's.
func TestUsageByNode(t *testing.T) {
	t.Parallel()
	bad := braid.New("bad", &echo{name: "bad", fail: "model_auth"})
	inner := Graph{Name: "inner", Nodes: nodes("x", "y"), Edges: []Edge{{From: "x", To: "y"}}}
	g := Graph{
		Name: "g", Nodes: append(nodes("a", "b"), Node{Name: "deep", Agent: inner.Agent()}, Node{Name: "bad", Agent: bad, Retries: 1}),
		Edges: []Edge{{From: "a", To: "b"}, {From: "a", To: "deep"}, {From: "a", To: "bad"}, {From: "bad", To: "b", Failed: true}},
	}
	g.Nodes[1].FanIn = FanInAny
	r, err := g.Agent().Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	type used struct{ starts, failed, cycles, scopes int }
	want := map[string]used{
		"a": {1, 0, 1, 0}, "b": {1, 0, 1, 0}, "bad": {2, 2, 2, 0}, "deep": {1, 0, 2, 2}, "deep/x": {1, 0, 1, 0}, "deep/y": {1, 0, 1, 0},
	}
	for _, n := range r.Metrics.Nodes {
		if got := (used{n.Starts, n.Failed, n.Spent.Cycles, n.Spent.Scopes}); got != want[n.Node] {
			t.Errorf("%s (%s): %+v, want %+v", n.Node, n.Agent, got, want[n.Node])
		}
		delete(want, n.Node)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
	if r, err = agent("a").Run(t.Context(), "go"); err != nil || r.Metrics.Nodes != nil {
		t.Errorf("%v, %v", r.Metrics.Nodes, err)
	}
}
