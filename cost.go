package braid

import (
	"errors"

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

// unheard is what a call cost of which nobody has heard the end: nil for unknown.
func unheard(m Model) *int64 {
	info := m.Info()
	if nano, known := priceOf(&info, event.Usage{}, false); known {
		return &nano
	}
	return nil
}

// count adds what a model call used and cost. The models' rows go by the names that
// users write and steps begin with, one for each model: what a provider calls it in its
// answer, which may be a dated version, stands in the message alone.
func (r *runView) count(model string, u event.Usage, nano *int64) {
	if nano == nil {
		r.unpriced = true
	} else {
		r.cost += *nano
	}
	if u == (event.Usage{}) && nano != nil && *nano == 0 {
		return // a call that was refused
	}
	r.usage = r.usage.Add(u)
	if planted.Is("usage twice") {
		r.usage = r.usage.Add(u)
	}
	row := r.row(model)
	row.Usage = row.Usage.Add(u)
	switch {
	case nano == nil:
		row.CostNanoUSD = nil
	case row.CostNanoUSD != nil:
		*row.CostNanoUSD += *nano
	}
}

// total is what the run cost, nil where a part of it is not known.
func (r *runView) total() *int64 {
	if r.unpriced {
		return nil
	}
	sum := r.cost
	return &sum
}
