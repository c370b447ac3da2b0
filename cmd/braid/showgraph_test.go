package main

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// The newest run's graph is drawn from its log, with the path that the run took.
func TestShowGraph(t *testing.T) {
	t.Parallel()
	p, _, errs := testProcess(t, nil, "run", "-q", "hi")
	if p.run(t.Context()) != 0 {
		t.Fatal(errs)
	}
	show := func(args ...string) (int, string, string) {
		p, out, errs := again(p, append([]string{"show"}, args...)...)
		return p.run(t.Context()), out.String(), errs.String()
	}
	if code, out, errs := show("--graph", "dot"); code == 0 || out != "" || !strings.Contains(errs, "no run of the conversation has a graph") {
		t.Errorf("without a graph: %d, %q, %q", code, out, errs)
	}
	node := func(name string) flow.Node {
		return flow.Node{Name: name, Agent: flow.Func(name, func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())}
	}
	g := flow.Graph{
		Name: "review", Nodes: []flow.Node{node("a"), node("b"), node("c")},
		Edges: []flow.Edge{{From: "a", To: "b", If: flow.Contains("yes")}, {From: "a", To: "c", Else: true}},
	}
	s := kept(t, p)
	run := journal.Run{ID: "r", Tenant: conf.Tenant, Conversation: "graphed", Agent: "review", Input: says("yes")}
	if _, err := s.Admit(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Agent().Drive(t.Context(), braid.Open(s, "graphed"), "r", braid.Work{}); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string][]string{
		"dot":     {"digraph \"review\"", `n0 -> n1 [label="contains \"yes\"", color=`, `n0 -> n2 [label="else"];`},
		"mermaid": {"flowchart TD", "n0 ==>", `n0 -->|"else"| n2`},
		"svg":     {"<svg ", "url(#taken)", "</svg>"},
	} {
		code, out, errs := show("graphed", "--graph", form)
		for _, text := range want {
			if code != 0 || !strings.Contains(out, text) {
				t.Errorf("%s: %d, %s, %s", form, code, out, errs)
			}
		}
	}
	for _, args := range [][]string{{"--graph", "png"}, {"--graph", "dot", "--json"}, {"--graph", "dot", "--follow"}} {
		if code, _, errs := show(append(args, "graphed")...); code == 0 || !strings.Contains(errs, "--graph") {
			t.Errorf("%q: %d, %s", args, code, errs)
		}
	}
}
