package drive

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// charge is what a call that failed used and cost. A call that the provider refused before
// anything of an answer came costs nothing.
func (w *Work) charge() cost.Charge {
	end := &w.answer
	if !end.begun && cost.Refused(end.err) {
		return cost.Charge{Usage: end.usage, Nano: new(int64)}
	}
	return cost.OfCut(&w.info, end.usage, w.request.Tokens(), model.BlocksTokens(end.partial))
}

// reportUsage writes for the operator that a model reported impossible usage.
func (d *activeRun) reportUsage(w *Work) {
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

// lostCharge is the charge for a call of a scope's model whose end nobody has heard. left is
// what the model had reported, as far as it is known.
func (d *activeRun) lostCharge(s *fold.Scope, name string, left event.Usage) cost.Charge {
	a := d.agentIn(s)
	info := a.named(name).Info()
	if info.Name != name && a.Hooks != nil {
		info = model.Info{Name: name} // one that a hook asked
	}
	return cost.OfCut(&info, left, a.projected(s), 0)
}

// lostSummary is lostCharge for the call for a summary.
func (d *activeRun) lostSummary(s *fold.Scope, left event.Usage) cost.Charge {
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
	return cost.OfCut(&info, left, a.projected(s), 0)
}
