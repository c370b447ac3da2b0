package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// count adds the usage and cost of a scope's model call.
func (r *Run) count(s *Scope, model string, u event.Usage, nano *int64, estimated bool) {
	if u == (event.Usage{}) && nano != nil && *nano == 0 {
		return // a call that was refused
	}
	r.Usage = r.Usage.Add(u)
	i, known := slices.BinarySearchFunc(r.Models, model, func(m modelSum, name string) int { return strings.Compare(m.name, name) })
	if !known {
		r.Models = slices.Insert(r.Models, i, modelSum{name: model})
	}
	m := &r.Models[i]
	m.usage = m.usage.Add(u)
	m.estimated = m.estimated || estimated
	charged := m.dearest
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
	for ; s != nil; s = s.Parent {
		s.Totals.Spent.Usage = s.Totals.Spent.Usage.Add(u)
		s.Totals.Spent.CostNanoUSD = event.AddCounts(s.Totals.Spent.CostNanoUSD, charged)
	}
}

// Bill returns usage and cost by model, and the total cost. total is nil if the cost of a call is unknown. estimated
// reports whether a call was cut.
func (r *Run) Bill() (rows []event.ModelUsage, total *int64, estimated bool) {
	n := len(r.Models)
	costs := make([]int64, n+1)
	total = &costs[n]
	if n > 0 {
		rows = make([]event.ModelUsage, n)
	}
	for i := range r.Models {
		m := &r.Models[i]
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
