package flow

import (
	"slices"

	"github.com/braidrun/braid"
)

// Agent makes the agent of the graph. A mistake in the definition does not panic: [braid.Agent.Err] and every run return the error
// of [Graph.Check].
func (g Graph) Agent() *braid.Agent {
	if err := g.Check(); err != nil {
		return broke(g.Name, err)
	}
	k := &graphKind{Graph: g.clone(), at: make(map[string]int, len(g.Nodes))}
	for i := range k.Nodes {
		k.at[k.Nodes[i].Name] = i
	}
	k.shape = shapeOf(&k.Graph, k.at)
	k.cyclic = k.shape.cyclic(func(int) bool { return true })
	k.conditional = make([]bool, len(k.Nodes))
	for e := range k.Edges {
		if one := &k.Edges[e]; one.If.Test != nil || one.Else {
			k.conditional[k.shape.from[e]] = true
		}
	}
	k.outline = outlineOf(&k.Graph)
	agents := make([]*braid.Agent, len(k.Nodes))
	for i := range k.Nodes {
		agents[i] = k.Nodes[i].agent()
		k.agents = append(k.agents, agents[i].Name())
	}
	return braid.NewFlow(g.Name, k, agents...)
}

// clone copies the definition, so that changes of the original do not matter.
func (g Graph) clone() Graph {
	g.Nodes, g.Edges, g.Entry, g.Answer = slices.Clone(g.Nodes), slices.Clone(g.Edges), slices.Clone(g.Entry), slices.Clone(g.Answer)
	return g
}

// agent returns the agent that works in a node.
func (n *Node) agent() *braid.Agent {
	switch {
	case n.Agent != nil:
		return n.Agent
	case n.Tool != nil:
		return braid.NewFlow(n.Name, toolNode{tool: n.Tool})
	default:
		return braid.NewFlow(n.Name, askNode{question: *n.Ask})
	}
}
