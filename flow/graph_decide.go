package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/draw"
)

// Decide implements [Decider]: it evaluates the conditions of the edges of a child that has ended, and returns the names of
// the nodes that they lead to.
func (k *graphKind) Decide(ctx context.Context, name string, s Scope) (any, error) {
	if name == draw.OutlineName {
		return k.outline, nil
	}
	number, node, _ := strings.Cut(strings.TrimPrefix(name, draw.EdgesPrefix), " ")
	want, err := strconv.Atoi(number)
	n, known := k.at[node]
	if err != nil || !known || len(s.Children) != 1 {
		return nil, &event.Error{
			Op: "graph " + k.Name, Kind: event.ErrInvalid, Message: fmt.Sprintf("there is no node for the decision %q", name),
			Hint: "begin another run",
		}
	}
	return k.ways(ctx, n, Visit{Node: node, Number: want, Output: s.Children[0].Output})
}

// Narrow implements [Narrower]: conditions read the answer of the child that has ended, and the outline reads nothing.
func (k *graphKind) Narrow(name string, s Scope) Scope {
	for _, end := range k.state(&s).undecided {
		if end.name == name {
			return Scope{Children: s.Children[end.child : end.child+1]}
		}
	}
	return Scope{}
}

// ways returns the names of the nodes to which the edges of a node lead that are taken after a visit.
func (k *graphKind) ways(ctx context.Context, n int, v Visit) ([]string, error) {
	to, otherwise, matched := []string{}, -1, false
	for _, e := range k.shape.out[n] {
		one := &k.Edges[e]
		switch {
		case one.Failed:
		case one.Else:
			otherwise = e
		case one.If.Test == nil:
			to = append(to, one.To)
		default:
			yes, err := one.If.Test(ctx, v)
			if err != nil {
				return nil, fmt.Errorf("the condition of the edge to %q: %w", one.To, err)
			}
			if yes {
				to, matched = append(to, one.To), true
			}
		}
	}
	if otherwise >= 0 && !matched {
		to = append(to, k.Edges[otherwise].To)
	}
	return to, nil
}

// outlineOf returns what the log keeps of a graph's definition, for drawings of the run.
func outlineOf(g *Graph) json.RawMessage {
	var o draw.Outline
	d := g.Drawing()
	for _, n := range d.Nodes {
		o.Nodes = append(o.Nodes, draw.OutlineNode{Name: n.Name, Shape: n.Shape, Entry: n.Entry})
	}
	for i, e := range d.Edges {
		o.Edges = append(o.Edges, draw.OutlineEdge{From: e.From, To: e.To, Label: e.Label, Failed: g.Edges[i].Failed})
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage(`{"nodes":[]}`) // names are text, so this does not happen
	}
	return raw
}
