package fold

import "github.com/braidrun/braid/event"

// count adds the usage and cost of a scope's model call.
func (r *Run) count(s *Scope, model string, u event.Usage, nano *int64, estimated bool) {
	if u == (event.Usage{}) && nano != nil && *nano == 0 {
		return // a call that was refused
	}
	r.Usage = r.Usage.Add(u)
	charged := r.Models.count(model, u, nano, estimated)
	if s != nil && r.split {
		s.Totals.Own.count(model, u, nano, estimated)
	}
	for ; s != nil; s = s.Parent {
		s.Totals.Spent.Usage = s.Totals.Spent.Usage.Add(u)
		s.Totals.Spent.CostNanoUSD = event.AddCounts(s.Totals.Spent.CostNanoUSD, charged)
	}
}

// Bill returns usage and cost by model, and the total cost. total is nil if the cost of a call is unknown. estimated
// reports whether a call was cut.
func (r *Run) Bill() (rows []event.ModelUsage, total *int64, estimated bool) { return r.Models.rows() }

// Agents splits the run's usage and cost by scope, the root first. It is nil unless a Task tool opened a scope.
func (r *Run) Agents() (list []event.AgentUsage) {
	if !r.Tasks {
		return nil
	}
	for _, s := range r.Scopes {
		list = append(list, event.AgentUsage{Scope: s.ID, Agent: s.Agent, Call: s.call(), Models: s.Own()})
	}
	return list
}

// Own splits the usage and cost of the scope's own model calls by model.
func (s *Scope) Own() []event.ModelUsage {
	rows, _, _ := s.Totals.Own.rows()
	return rows
}

// call returns the tool call that the scope works for; empty for the root.
func (s *Scope) call() string {
	for ; s != nil; s = s.Parent {
		switch {
		case s.Task != nil:
			return s.Task.Call
		case s.Opener != nil:
			return s.Opener.ID
		}
	}
	return ""
}
