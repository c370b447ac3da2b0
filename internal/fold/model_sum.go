package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// bill splits usage and cost by model, sorted by name.
type bill []modelSum

// modelSum sums the usage and cost of a run's calls of one model. It is keyed by the name in the settings and in
// StepBegun; only the message holds a provider's own name, such as a dated version.
type modelSum struct {
	name  string
	usage event.Usage
	cost  int64
	// dearest is the highest known cost of a complete call. Limits charge it for a call of unknown cost.
	dearest int64
	// unpriced reports whether the cost of a call is unknown.
	unpriced bool
	// estimated reports whether a call was cut, so that its usage is an estimate.
	estimated bool
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

// rows returns usage and cost by model, and the total cost.
func (l *bill) rows() (rows []event.ModelUsage, total *int64, estimated bool) {
	n := len(*l)
	costs := make([]int64, n+1)
	total = &costs[n]
	if n > 0 {
		rows = make([]event.ModelUsage, n)
	}
	for i := range *l {
		m := &(*l)[i]
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
