package flow

import (
	"fmt"

	"github.com/braidrun/braid/event"
)

// input returns the input of a node's start.
func (k *graphKind) input(s *Scope, st *graphState, n, visit int) ([]event.Block, *event.Error) {
	in := Incoming{Task: s.Input, Visit: visit}
	for _, e := range k.shape.in[n] {
		if v := st.values[e]; v != nil {
			in.Values = append(in.Values, *v)
		}
	}
	node := &k.Nodes[n]
	if node.Input == nil {
		return in.feed(node.feed()), nil
	}
	input, err := node.Input(in)
	if err != nil {
		return nil, &event.Error{
			Op: "graph " + k.Name, Kind: event.ErrInvalid, Message: fmt.Sprintf("the input of node %q: %v", node.Name, err), Err: err,
			Hint: "correct the function Input, or what it reads",
		}
	}
	return input, nil
}

// feed returns the node's feed with the zero value resolved.
func (n *Node) feed() Feed {
	switch {
	case n.Feed != "":
		return n.Feed
	case n.Agent != nil && n.Agent.Model() != nil && n.In == nil:
		return FeedTaskAndOutputs
	default:
		return FeedOutputs
	}
}

// feed builds an input.
func (in *Incoming) feed(f Feed) []event.Block {
	switch {
	case f == FeedTask || len(in.Values) == 0:
		return in.Task
	case f == FeedOutputs && len(in.Values) == 1:
		return in.Values[0].Output
	}
	var list []event.Block
	if f == FeedTaskAndOutputs {
		list = append(list, in.Task...)
	}
	for i := range in.Values {
		v := &in.Values[i]
		if len(v.Output) > 0 {
			list = append(append(list, &event.Text{Text: "[node: " + v.From + "]"}), v.Output...)
		}
	}
	return list
}

// answer returns the answer of a graph that has ended.
func (k *graphKind) answer(s *Scope, st *graphState) (output []event.Block) {
	add := func(n int) {
		if last := st.nodes[n].last; last > 0 && s.Children[last-1].Err == nil {
			output = append(output, s.Children[last-1].Output...)
		}
	}
	for _, name := range k.Answer {
		add(k.at[name])
	}
	for n := range k.Nodes {
		if len(k.Answer) == 0 && !st.nodes[n].took {
			add(n)
		}
	}
	return output
}
