package fold

import "github.com/braidrun/braid/event"

// Nodes returns what the nodes of the run's flows used; nil for a run without flows.
func (r *Run) Nodes() (list []event.NodeMetrics) {
	at := map[string]int{}
	paths := map[*Scope]string{}
	for _, s := range r.Scopes {
		path := paths[s.Parent]
		if s.Place.Part > 0 {
			path = nodePath(path, s)
		}
		if path == "" {
			continue
		}
		paths[s] = path
		if s.Place.Part == 0 {
			continue // a tool of the node; its usage is in the node's
		}
		i, known := at[path]
		if !known {
			if i = len(list); i >= event.MaxNodeMetrics {
				i = event.MaxNodeMetrics
			}
			if i == len(list) {
				list = append(list, event.NodeMetrics{Node: path, Agent: s.Agent})
				if i == event.MaxNodeMetrics {
					list[i] = event.NodeMetrics{}
				}
			}
			at[path] = i
		}
		one := &list[i]
		one.Starts++
		if s.Closed != nil && s.Closed.Err != nil {
			one.Failed++
		}
		one.Spent = one.Spent.Add(s.Totals.Spent)
	}
	return list
}

// nodePath returns the path of a scope in a node, below that of its parent.
func nodePath(parent string, s *Scope) string {
	name := s.Place.Node
	if name == "" {
		name = s.Agent
	}
	if parent == "" {
		return name
	}
	return parent + "/" + name
}
