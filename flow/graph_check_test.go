package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// at returns nodes with an agent each.
func nodes(names ...string) (list []Node) {
	for _, n := range names {
		list = append(list, Node{Name: n, Agent: agent(n)})
	}
	return list
}

func with(list []Node, name string, change func(*Node)) []Node {
	for i := range list {
		if list[i].Name == name {
			change(&list[i])
		}
	}
	return list
}

var yes = When("yes", func(context.Context, Visit) (bool, error) { return true, nil })

// A graph that cannot work is refused when it is made, and the error names the place.
func TestAGraphIsRefused(t *testing.T) {
	t.Parallel()
	object := func(properties string) json.RawMessage {
		return json.RawMessage(`{"type":"object",` + properties + `}`)
	}
	for name, c := range map[string]struct {
		graph Graph
		want  []string
	}{
		"no nodes":         {Graph{}, []string{"no nodes"}},
		"two of one name":  {Graph{Nodes: nodes("a", "a")}, []string{`node "a"`, "two nodes"}},
		"no name":          {Graph{Nodes: []Node{{Agent: agent("a")}}}, []string{"no name"}},
		"a hostile name":   {Graph{Nodes: nodes("a\x1b[2J")}, []string{"cannot be printed"}},
		"a long name":      {Graph{Nodes: nodes(strings.Repeat("x", 200))}, []string{"longer than 128"}},
		"nothing to do":    {Graph{Nodes: []Node{{Name: "a"}}}, []string{`node "a"`, "0 of Agent, Tool and Ask"}},
		"two things to do": {Graph{Nodes: []Node{{Name: "a", Agent: agent("a"), Ask: &Question{Text: "So?"}}}}, []string{"2 of Agent"}},
		"no question":      {Graph{Nodes: []Node{{Name: "a", Ask: &Question{}}}}, []string{`node "a"`, "question is empty"}},
		"a wrong agent":    {Graph{Nodes: []Node{{Name: "a", Agent: braid.New("x", nil)}}}, []string{`node "a"`, "not usable", "no model"}},
		"its own name":     {Graph{Name: "a", Nodes: nodes("a")}, []string{`node "a"`, "name of the graph"}},
		"two agents of one name": {
			Graph{Nodes: []Node{{Name: "a", Agent: agent("x")}, {Name: "b", Agent: agent("x")}}}, []string{`node "b"`, `another agent called "x"`},
		},
		"an unknown end":   {Graph{Nodes: nodes("a"), Edges: []Edge{{From: "a", To: "b"}}}, []string{`edge 1 ("a" to "b")`, `no node "b"`}},
		"an edge twice":    {Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b"}, {From: "a", To: "b"}}}, []string{"edge 2", "another edge"}},
		"an unknown entry": {Graph{Nodes: nodes("a"), Entry: []string{"x"}}, []string{`Entry names the node "x"`}},
		"an unknown answer": {
			Graph{Nodes: nodes("a"), Answer: []string{"x"}}, []string{`Answer names the node "x"`},
		},
		"unreachable": {
			Graph{Nodes: nodes("a", "b", "c"), Edges: []Edge{{From: "b", To: "c"}}, Entry: []string{"a"}}, []string{`node "b"`, "no entry leads to it"},
		},
		"no entry": {
			Graph{Nodes: with(nodes("a", "b"), "a", func(n *Node) { n.Visits = 2 }), Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "a", If: yes}}},
			[]string{"no node is the entry"},
		},
		"waits for itself": {
			Graph{
				Nodes: with(nodes("a", "b", "c"), "b", func(n *Node) { n.Visits = 2 }),
				Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "c", To: "b", If: yes}},
			},
			[]string{`node "b"`, "can never start", "FanInAny"},
		},
		"no exit": {
			Graph{
				Nodes: with(nodes("a", "b"), "a", func(n *Node) { n.Visits = 2 }), Entry: []string{"a"},
				Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "a"}},
			},
			[]string{"no exit"},
		},
		"no bound": {
			Graph{Nodes: nodes("a", "b"), Entry: []string{"a"}, Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "a", If: yes}}},
			[]string{`node "a"`, "cycle without a bound"},
		},
		"no bound of one of two cycles": {
			Graph{
				Nodes: with(nodes("a", "b", "c"), "b", func(n *Node) { n.Visits = 2; n.FanIn = FanInAny }), Entry: []string{"a"},
				Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "a", If: yes}, {From: "a", To: "c", If: yes}, {From: "c", To: "a", If: yes}},
			},
			[]string{`node "a"`, "cycle without a bound"},
		},
		"a cycle of one": {
			Graph{Nodes: nodes("a"), Entry: []string{"a"}, Edges: []Edge{{From: "a", To: "a", If: yes}}}, []string{`node "a"`, "cycle without a bound"},
		},
		"too high a join": {
			Graph{Nodes: with(nodes("a", "b"), "b", func(n *Node) { n.FanIn = FanInAtLeast(2) }), Edges: []Edge{{From: "a", To: "b"}}},
			[]string{`node "b"`, "waits for 2 edges, and 1"},
		},
		"else without if": {
			Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b", Else: true}}}, []string{"edge 1", "no other edge"},
		},
		"no expression": {
			Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b", If: Matches(nil)}}}, []string{"edge 1", "a label and no test"},
		},
		"if and else": {
			Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b", Else: true, If: yes}}}, []string{"edge 1", "exclude each other"},
		},
		"types that do not fit": {
			Graph{
				Nodes: []Node{
					{Name: "a", Agent: agent("a"), Out: object(`"properties":{"n":{"type":"string"}}`)},
					{Name: "b", Agent: agent("b"), In: object(`"properties":{"n":{"type":"integer"}}`)},
				},
				Edges: []Edge{{From: "a", To: "b"}},
			},
			[]string{`edge 1 ("a" to "b")`, "the output at /n is string, and the next node takes integer"},
		},
		"a property that is missing": {
			Graph{
				Nodes: []Node{
					{Name: "a", Agent: agent("a"), Out: object(`"properties":{"n":{}}`)},
					{Name: "b", Tool: braid.Func("b", "B.", func(_ context.Context, in struct {
						City string `json:"city"`
					},
					) (string, error) {
						return in.City, nil
					})},
				},
				Edges: []Edge{{From: "a", To: "b"}},
			},
			[]string{"edge 1", `no property "city"`},
		},
		"a schema that is none": {Graph{Nodes: []Node{{Name: "a", Agent: agent("a"), In: json.RawMessage(`[1]`)}}}, []string{`node "a"`, "In is not"}},
		"too many nodes":        {Graph{Nodes: make([]Node, maxNodes+1)}, []string{"10001 nodes"}},
		"a negative bound":      {Graph{Nodes: with(nodes("a"), "a", func(n *Node) { n.Visits = -1 })}, []string{`node "a"`, "negative"}},
	} {
		g := c.graph
		if g.Name == "" {
			g.Name = "g"
		}
		err := g.Check()
		_, ran := g.Agent().Run(t.Context(), "go")
		for _, want := range c.want {
			if !errors.Is(err, event.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) || fmt.Sprint(err) != fmt.Sprint(ran) {
				t.Errorf("%s: %v, the run: %v; want %q", name, err, ran, want)
			}
		}
	}
}

// What fits is not refused.
func TestAGraphIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]Graph{
		"one node": {Nodes: nodes("a")},
		"an agent in two nodes": {Nodes: func() []Node {
			one := agent("x")
			return []Node{{Name: "a", Agent: one}, {Name: "b", Agent: one}}
		}()},
		"an integer for a number": {
			Nodes: []Node{
				{Name: "a", Agent: agent("a"), Out: json.RawMessage(`{"type":["integer","null"]}`)},
				{Name: "b", Agent: agent("b"), In: json.RawMessage(`{"type":"number"}`)},
			},
			Edges: []Edge{{From: "a", To: "b"}},
		},
		"a tool": {Nodes: []Node{{Name: "a", Tool: braid.Func("t", "T.", look, tool.Pure())}}},
	} {
		g.Name = "g"
		if err := errors.Join(g.Check(), g.Agent().Err()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
