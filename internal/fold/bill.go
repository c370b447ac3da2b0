package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// bill splits usage and cost by model, sorted by name.
type bill []modelSum

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

// count adds the usage and cost of a model call. It returns what the call counts for limits.
func (l *bill) count(model string, u event.Usage, nano *int64, estimated bool) (charged int64) {
	i, known := slices.BinarySearchFunc(*l, model, func(m modelSum, name string) int { return strings.Compare(m.name, name) })
	if !known {
		*l = slices.Insert(*l, i, modelSum{name: model})
	}
	m := &(*l)[i]
	m.usage = m.usage.Add(u)
	m.estimated = m.estimated || estimated
	charged = m.dearest
	switch {
	case nano == nil:
		m.unpriced = true
	case estimated:
		// The provider may charge more, which counts for limits.
		m.cost = event.AddCounts(m.cost, *nano)
		charged = max(charged, *nano)
	default:
		charged = *nano
		m.cost = event.AddCounts(m.cost, charged)
		m.dearest = max(m.dearest, charged)
	}
	return charged
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

// rows returns usage and cost by model, and the total cost.
func (l bill) rows() (rows []event.ModelUsage, total *int64, estimated bool) {
	n := len(l)
	costs := make([]int64, n+1)
	total = &costs[n]
	if n > 0 {
		rows = make([]event.ModelUsage, n)
	}
	for i := range l {
		m := &l[i]
		rows[i] = event.ModelUsage{Model: m.name, Usage: m.usage, Estimated: m.estimated}
		estimated = estimated || m.estimated
		if m.unpriced {
			total = nil
			continue
		}
		costs[i] = m.cost
		costs[n] = event.AddCounts(costs[n], m.cost)
		rows[i].CostNanoUSD = &costs[i]
	}
	return rows, total, estimated
}
