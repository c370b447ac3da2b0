package drive

import (
	"cmp"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/retry"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// outdated reports whether the view must be folded again before the next decision. A run that is to stop is ended
// without that.
func (d *activeRun) outdated() bool {
	if !d.view.Stale || d.phase == phaseStopping || d.fault != nil {
		return false
	}
	d.pending.awaited = true
	return true
}

// compact begins a compaction. It is planned from the log, when all that has ended is written. It reports whether the
// scope moved.
func (d *driver) compact(s *fold.Scope, agent *Agent, why event.Why) bool {
	if len(d.pending.events) > 0 {
		d.pending.awaited = true
		return false
	}
	m := agent.managed()
	cycle := s.Cycle
	if why != event.WhyOverflow {
		cycle++
	}
	if !d.view.Past.Traced {
		// From now on the fold knows it, so that this is done once.
		d.traced, d.view.Stale, d.pending.awaited = true, true, true
		return false
	}
	first := d.view.Begin + 1
	if s.Depth > 0 {
		first = d.view.Run.First
	}
	p, ok := m.Plan(s, first, d.view.Hidden.Reach(s.ID), why, s.Model.Easings)
	if !ok {
		return d.uncompacted(s, agent)
	}
	b, decided := d.callBeforeCompaction(s, agent, &p, &m)
	switch {
	case !decided:
		d.pending.awaited = true
		return false
	case b.Cancel:
		d.callAfterCompaction(agent, &hook.AfterCompaction{Scope: s.ID, Why: why, Err: errCompactionCancelled})
		return d.uncompacted(s, agent)
	case p.SumUp && len(b.Summary) == 0:
		d.beginSummary(s, agent, cycle, &p, &m, b.Instructions)
		return true
	}
	a := hook.AfterCompaction{Scope: s.ID, Why: why, Summary: b.Summary}
	if p.To > 0 && len(a.Summary) == 0 {
		a.Summary = leftOut
	}
	if d.callAfterCompaction(agent, &a) {
		d.writeCompaction(s, cycle, "", 0, &p, a.Summary)
	}
	return true
}

// uncompacted continues without a compaction, because nothing can be left out or a hook forbids it. The log does not
// record that: another driver plans the same compaction again.
func (d *driver) uncompacted(s *fold.Scope, agent *Agent) bool {
	return d.apply(s, agent, d.next(s, agent, true))
}

// leftOut replaces messages that were left out without a summary.
var leftOut = []event.Block{&event.Text{Text: "[Earlier messages of this conversation are left out here.]"}}

// readTail reads the log again. While the store cannot be reached it tries again, until the lease may have run out.
func (d *activeRun) readTail() (tail journal.Tail, err error) {
	err = d.lease.retry(func() (err error) {
		tail, err = readTail(d.lease.base, d.lease.conv.Store, d.row.Conversation)
		return err
	})
	return tail, err
}

// beginSummary begins the model call for a summary.
func (d *driver) beginSummary(s *fold.Scope, agent *Agent, cycle int, p *compact.Omission, m *Management, told string) {
	llm := m.Summary.Model
	if llm == nil {
		llm = agent.named(s.LastModel)
	}
	step := fold.StepName(s.ID, 'c', cycle, 0)
	if p.Why == event.WhyOverflow {
		step += "." + strconv.Itoa(s.Model.Easings+1) // there may have been others before the same call
	}
	attempt, tries := 1, 1
	if s.Compaction().Step == step {
		attempt, tries = s.Compaction().Attempt+1, s.Compaction().Tries+1
	}
	info := llm.Info()
	w := newModelWork(llm, &info)
	w.sum = &summing{Omission: *p}
	w.scope, w.agent, w.step, w.attempt, w.begun = s, agent, step, attempt, d.now
	size, refused := cmp.Or(m.Context, cmp.Or(w.info.ContextWindow, DefaultContext)), 0
	if err := s.Compaction().Err; tries > 1 && err != nil && err.Kind == event.ErrContextOverflow {
		refused = s.Compaction().Tries
	}
	w.request = model.Request{
		Instructions: told, Messages: compact.Request(p.Gone, size/2, refused), Options: m.Summary.Options,
		Run: d.row.ID, Scope: s.ID, Cycle: cycle, Attempt: attempt,
	}
	d.addAt(s, cycle, step, attempt, &event.StepBegun{Step: event.StepCompaction, Why: p.Why, Model: w.info.Name})
	d.runs(s, step)
	d.exec.todo = append(d.exec.todo, w)
}

// summarise asks the model for a summary beside the driver, and calls the hooks after it. Watchers see no pieces of
// it.
func (d *driver) summarise(w *Work, to Reporter) {
	end, sum := &w.answer, w.sum
	defer d.reportEnd(w, to)
	back := false
	defer func() {
		if v := recover(); v != nil {
			sum.err = foreign.Panicked("summary", "what follows the model", v)
		} else if !back {
			sum.err = foreign.EndedGoroutine("model "+w.info.Name, "the model or a hook after it")
		}
	}()
	runModel(w.within(d.ctx), w, &assembler{}, d.cfg.work.Models, func(event.Body) bool { return w.within(d.ctx).Err() == nil })
	guards := d.guardsOf(w.agent, guardrail.Output)
	d.filterAnswer(w.within(d.ctx), w, guards)
	a := hook.AfterCompaction{Scope: w.scope.ID, Why: sum.Why, Model: w.info.Name, Usage: end.usage, Duration: end.took}
	if a.Err = end.err; a.Err == nil {
		a.Summary, a.Err = compact.SummaryOf(end.message)
	}
	sum.broke = w.agent.callAfterCompaction(w.within(d.ctx), d.cfg.agent.Limits.Grace, &a)
	sum.summary, sum.err = a.Summary, a.Err
	d.filterSummary(w, guards)
	if sum.broke != nil {
		sum.err = sum.broke
	}
	back = true
}

// filterSummary passes a summary that hooks changed through the guardrails.
func (d *activeRun) filterSummary(w *Work, guards []guardrail.Rule) {
	if len(guards) == 0 {
		return
	}
	ctx, cancel := afterwards(w.within(d.ctx), d.cfg.agent.Limits.Grace)
	defer cancel()
	f := guardrail.New(ctx, guards)
	w.sum.summary = f.Blocks(w.sum.summary)
	w.sum.err = f.Error(w.sum.err)
	switch {
	case f.Err() != nil:
		w.sum.summary, w.sum.err = nil, f.Err()
	case len(w.sum.summary) == 0 && w.sum.err == nil:
		w.sum.summary = fold.RedactedContent
	}
}

// settleSummary folds the end of the model call for a summary.
func (d *driver) settleSummary(w *Work) {
	end, sum, s := &w.answer, w.sum, w.scope
	d.ran(s, w.step)
	if sum.err == nil {
		sum.err = d.stoppedIn(s)
	}
	if sum.err != nil && d.interrupted() {
		return // the next driver finds it begun, and begins it again
	}
	cycle := s.Cycle
	if sum.Why != event.WhyOverflow {
		cycle++
	}
	c := cost.Charge{Usage: end.usage}
	if end.message != nil {
		c.Nano = end.message.CostNanoUSD
	} else {
		c = w.charge()
	}
	ended := &modelCallEnd{outcome: event.OutcomeDone, charge: c, known: end.known, took: end.took}
	if sum.err == nil {
		d.endCompaction(s, cycle, w.step, w.attempt, ended)
		d.reportUsage(w)
		d.writeCompaction(s, cycle, w.step, w.attempt, &sum.Omission, sum.summary)
		return
	}
	ended.outcome, ended.err = event.OutcomeFailed, modelError(w.info.Name, sum.err)
	switch kind := ended.err.Kind; {
	case d.stoppedIn(s) != nil:
		ended.outcome = event.OutcomeCancelled
	case sum.broke != nil:
	case kind == event.ErrContextOverflow && s.Compaction().Tries < DefaultEasings:
		ended.retryAt = d.now // with less to read
	case kind.Info().Retry && kind != event.ErrTimeout:
		if after, again := retry.After(&w.agent.Retry, s.Compaction().Tries, s.Compaction().Unreached, ended.err); again {
			ended.retryAt = d.now.Add(after)
		}
	}
	d.endCompaction(s, cycle, w.step, w.attempt, ended)
	d.reportUsage(w)
	if sum.broke != nil {
		d.failWith(sum.broke)
	}
}

// writeCompaction writes the events of a compaction.
func (d *activeRun) writeCompaction(s *fold.Scope, cycle int, step string, attempt int, p *compact.Omission, summary []event.Block) {
	for _, b := range p.Compacted(summary) {
		d.addAt(s, cycle, step, attempt, b)
	}
}

// refold folds the log again, because the last event changed the meaning of earlier ones. It keeps what the end of the
// log does not have: the run's own state, and the usage of earlier runs.
func (d *driver) refold() error {
	tail, err := d.readTail()
	if err != nil {
		return err
	}
	old, v := d.view, fold.FromTail(foldable(&tail), d.traced || d.view.Past.Traced)
	v.State, v.Spent, v.SpentKnown = old.State, old.Spent, old.SpentKnown
	d.view = v
	for _, list := range [][]*Work{d.exec.flights, d.exec.queue, d.exec.todo} {
		for _, w := range list {
			w.scope = v.Run.Scope(w.scope.ID)
			if w.entry != nil {
				w.entry = w.scope.CallByStep(w.step)
			}
		}
	}
	return nil
}
