package braid

import (
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/planted"
)

// priceOf is what a call that used u cost, in 1e-9 US dollars; false where nobody knows.
// sure says that u is all that it used. A model that follows a script costs what it
// says, also where it was cut off: no provider has counted anything.
func priceOf(info *ModelInfo, u event.Usage, sure bool) (int64, bool) {
	if info.Cost == nil || !sure && !info.Simulated {
		return 0, false
	}
	return info.Cost(u)
}

// priceOfFailure is priceOf for a call that failed with err. One that was refused before
// anything of an answer came was not charged for; of one that was cut in the middle
// the provider has told at most a part of what it used.
func priceOfFailure(info *ModelInfo, u event.Usage, begun bool, err error) (int64, bool) {
	if !begun && refused(err) {
		return 0, true
	}
	return priceOf(info, u, false)
}

// refused reports whether a provider has said no, or was not there. The kinds that are
// left out may also mean that it was at work and nobody heard it.
func refused(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case "", event.ErrInternal, event.ErrStreamCut, event.ErrTimeout, event.ErrCancelled:
		return false
	default:
		return true
	}
}

// unheard is what a call of the model of that name cost, of which nobody has heard the end:
// nil for unknown.
func (a *Agent) unheard(name string) *int64 {
	info := a.named(name).Info()
	if info.Name != name && a.hooks != nil {
		return nil // one that a hook asked
	}
	if nano, known := priceOf(&info, event.Usage{}, false); known {
		return &nano
	}
	return nil
}

// modelSum is what a run's calls of one model used and cost. It goes by the name that users
// write and steps begin with: what a provider calls its model in an answer, which may be
// a dated version, stands in the message alone.
type modelSum struct {
	name  string
	usage event.Usage
	cost  int64
	// dearest is what the dearest call cost whose cost is known.
	dearest int64
	// unpriced says that of one of the calls nobody knows what it cost.
	unpriced bool
}

// count adds what a model call of a scope used and cost.
func (r *runView) count(s *Scope, model string, u event.Usage, nano *int64) {
	if u == (event.Usage{}) && nano != nil && *nano == 0 {
		return // a call that was refused
	}
	r.usage = r.usage.Add(u)
	if planted.Is("usage twice") {
		r.usage = r.usage.Add(u)
	}
	i, known := slices.BinarySearchFunc(r.models, model, func(m modelSum, name string) int { return strings.Compare(m.name, name) })
	if !known {
		r.models = slices.Insert(r.models, i, modelSum{name: model})
	}
	m := &r.models[i]
	m.usage = m.usage.Add(u)
	charged := m.dearest
	if nano == nil {
		m.unpriced = true
	} else {
		charged = *nano
		m.cost += charged
		m.dearest = max(m.dearest, charged)
	}
	for ; s != nil; s = s.parent {
		s.spent.Usage = s.spent.Usage.Add(u)
		s.spent.CostNanoUSD += charged
	}
}

// bill is what the run used and cost by model, and what it cost in all: nil where a part
// of that is not known.
func (r *runView) bill() (rows []event.ModelUsage, total *int64) {
	n := len(r.models)
	costs := make([]int64, n+1)
	total = &costs[n]
	if n > 0 {
		rows = make([]event.ModelUsage, n)
	}
	for i := range r.models {
		m := &r.models[i]
		rows[i] = event.ModelUsage{Model: m.name, Usage: m.usage}
		if m.unpriced {
			total = nil
			continue
		}
		costs[i] = m.cost
		costs[n] += m.cost
		rows[i].CostNanoUSD = &costs[i]
	}
	return rows, total
}
