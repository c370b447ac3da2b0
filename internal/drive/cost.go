package drive

import (
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// PriceOf gives what a call that used u cost, in 1e-9 US dollars; false where there is no
// price. fault names a price that cannot be.
func PriceOf(info *model.Info, u event.Usage) (nano int64, known bool, fault string) {
	if info.Cost == nil {
		return 0, false, ""
	}
	nano, known = info.Cost(u)
	switch {
	case known && nano < 0:
		return 0, false, "a cost below zero"
	case known && nano > mostNanoUSD:
		return 0, false, "a cost above a million dollars"
	}
	return nano, known, ""
}

// mostNanoUSD is the largest cost of one call that can be.
const mostNanoUSD = 1e15

// charge is what a model call that gave no answer used and cost.
type charge struct {
	usage event.Usage
	// nano is nil where there is no price.
	nano      *int64
	estimated bool
}

// cutCharge is the charge for a call that was cut: what the provider reported before, or an
// estimate of the prompt, and at least as many output tokens as have come. A simulated model
// costs what it reports: no provider has counted anything.
func cutCharge(info *model.Info, heard event.Usage, prompt, output int64) charge {
	c := charge{usage: heard}
	if !info.Simulated {
		if heard.Prompt() == 0 {
			c.usage.Input = prompt
		}
		c.usage.Output = max(heard.Output, output)
		c.usage.Total = max(heard.Total, c.usage.Prompt()+c.usage.Output)
		c.estimated = true
	}
	if nano, known, _ := PriceOf(info, c.usage); known {
		c.nano = &nano
	}
	return c
}

// charge is what a call that failed used and cost. A call that the provider refused before
// anything of an answer came costs nothing.
func (w *Work) charge() charge {
	end := &w.answer
	if !end.begun && refused(end.err) {
		return charge{usage: end.usage, nano: new(int64)}
	}
	return cutCharge(&w.info, end.usage, w.request.Tokens(), model.BlocksTokens(end.partial))
}

// doubt adds something impossible to what the model reported; empty is nothing.
func (e *modelEnd) doubt(fault string) {
	if fault != "" {
		e.faults = append(e.faults, fault)
	}
}

// reportUsage writes for the operator that a model reported impossible usage.
func (d *driver) reportUsage(w *Work) {
	faults := w.answer.faults
	if len(faults) == 0 {
		return
	}
	d.add(w.scope, w.step, w.attempt, &event.Notice{
		Code: event.NoticeUsage,
		Text: "the model " + w.info.Name + " reported impossible usage (" + strings.Join(faults, ", ") + "): Braid counts what can be",
	})
	d.pending.events[len(d.pending.events)-1].Audience = event.Operator
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

// lostCharge is the charge for a call of a scope's model whose end nobody has heard. left is
// what the model had reported, as far as it is known.
func (d *driver) lostCharge(s *fold.Scope, name string, left event.Usage) charge {
	a := d.agentIn(s)
	info := a.named(name).Info()
	if info.Name != name && a.Hooks != nil {
		info = model.Info{Name: name} // one that a hook asked
	}
	return cutCharge(&info, left, a.projected(s), 0)
}

// lostSummary is lostCharge for the call for a summary.
func (d *driver) lostSummary(s *fold.Scope, left event.Usage) charge {
	name := s.Compaction().Name
	a := d.agentIn(s)
	m := a.managed()
	if m.Summary == nil || m.Summary.Model == nil {
		return d.lostCharge(s, name, left)
	}
	info := m.Summary.Model.Info()
	if info.Name != name {
		info = model.Info{Name: name}
	}
	return cutCharge(&info, left, a.projected(s), 0)
}
