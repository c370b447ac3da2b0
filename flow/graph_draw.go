package flow

import (
	"github.com/braidrun/braid/flow/draw"
)

// Drawing returns the graph for drawing, without a run: [draw.Graph.DOT], [draw.Graph.Mermaid], [draw.Graph.SVG]. It also draws
// a graph with mistakes, as far as names are known.
func (g Graph) Drawing() *draw.Graph {
	d := &draw.Graph{Name: g.Name}
	entry := map[string]bool{}
	for _, name := range g.Entry {
		entry[name] = true
	}
	if len(g.Entry) == 0 {
		for i := range g.Nodes {
			entry[g.Nodes[i].Name] = true
		}
		for i := range g.Edges {
			delete(entry, g.Edges[i].To)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		d.Nodes = append(d.Nodes, draw.Node{Name: n.Name, Shape: n.shape(), Entry: entry[n.Name]})
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		d.Edges = append(d.Edges, draw.Edge{From: e.From, To: e.To, Label: e.label()})
	}
	return d
}

func (n *Node) shape() draw.Shape {
	switch {
	case n.Ask != nil:
		return draw.Question
	case n.Tool != nil:
		return draw.Function
	case n.Agent != nil && n.Agent.Model() == nil:
		return draw.Group
	default:
		return draw.Agent
	}
}

func (e *Edge) label() string {
	switch {
	case e.Else:
		return "else"
	case e.Failed:
		return "failed"
	case e.If.Test != nil && e.If.Label == "":
		return "if"
	default:
		return e.If.Label
	}
}
