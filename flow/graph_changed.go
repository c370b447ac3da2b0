package flow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/braidrun/braid/event"
)

// Matches implements [Matcher]: nodes are matched by their names. A node at work, and a node to which a decision leads that
// nothing has followed yet, must still be in the graph. Everything else may change.
func (k *graphKind) Matches(s Scope) error {
	for i := range s.Children {
		if c := &s.Children[i]; c.Open {
			if _, known := k.at[c.Node]; !known {
				return k.lacks(c.Node)
			}
		}
	}
	opened := map[string]bool{}
	for i := range s.Children {
		opened[s.Children[i].Node] = true
	}
	for i := range s.Decisions {
		var to []string
		if json.Unmarshal(s.Decisions[i].Value, &to) != nil {
			continue // it is not about edges
		}
		for _, name := range to {
			if _, known := k.at[name]; !known && !opened[name] {
				return k.lacks(name)
			}
		}
	}
	return nil
}

func (k *graphKind) lacks(node string) error {
	return &event.Error{
		Op: "graph " + k.Name, Kind: event.ErrNotFound, Message: fmt.Sprintf("the run needs node %q, which graph %q no longer has", node, k.Name),
	}
}

// Matches implements [Matcher]: members are matched by their names.
func (k *swarmKind) Matches(s Scope) error {
	if n := len(s.Children); n > 0 {
		if name := s.Children[n-1].Agent; !slices.ContainsFunc(k.Members, func(m Member) bool { return m.Agent.Name() == name }) {
			return &event.Error{
				Op: "swarm " + k.Name, Kind: event.ErrNotFound,
				Message: fmt.Sprintf("agent %q is at work, and swarm %q no longer has it", name, k.Name),
			}
		}
	}
	return nil
}
