package braid

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// perform runs what has begun and takes in what has ended.
func (d *driver) perform() {
	todo := d.todo
	d.todo = d.todo[:0]
	if d.ctx.Err() != nil {
		// Cancelled while the log was written: what has begun there and nowhere
		// else must not run any more.
		for _, w := range todo {
			d.leave(w)
		}
		todo = nil
	}
	if d.held {
		// Something waits for what was just written: it begins first.
		for _, w := range todo {
			d.launch(w)
		}
		return
	}
	if len(todo) == 1 && todo[0].call == nil && todo[0].sum == nil && d.undisturbed() {
		d.callAlone(todo[0])
		return
	}
	for _, w := range todo {
		d.launch(w)
	}
	d.takeIn()
}

// undisturbed reports whether nothing but the one step that runs can move the
// run: no other step, no timer, no question that may be answered meanwhile.
func (d *driver) undisturbed() bool {
	return d.running == 1 && d.wake.IsZero() &&
		!slices.ContainsFunc(d.view.Run.Questions, func(q *fold.Ask) bool { return !q.Answered })
}

// settle folds the end of a step, unless the step was left behind.
func (d *driver) settle(w *work) bool {
	i := slices.Index(d.flights, w)
	if i < 0 {
		return false
	}
	d.flights = slices.Delete(d.flights, i, i+1)
	d.launchNext()
	switch {
	case w.call != nil:
		d.settleTool(w)
	case w.sum != nil:
		d.settleSummary(w)
	default:
		d.settleModel(w)
	}
	return true
}

func (d *driver) settleTool(w *work) {
	end := w.end
	d.ran(w.scope, w.step)
	c := w.call
	c.close()
	if asked := c.questions.asked; len(asked) > 0 {
		d.addAsked(w.scope, w.agent, w.step, w.attempt, asked)
		return
	}
	if end.again && w.attempt < hookTries && d.ctx.Err() == nil {
		d.add(w.scope, w.step, w.attempt, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeFailed, RetryAt: d.now, Duration: end.took, Err: end.failure,
		})
		return
	}
	ended, err := end.made, end.failure
	if ended == nil {
		ended = &toolEnded{}
		err = end.result(c, w.agent.limits.ResultBytes, &ended.result)
	}
	if err != nil && c.traits.Retry.Attempts > 1 && d.ctx.Err() == nil && w.triesAgain() {
		retry := c.traits.Retry.forTools()
		d.add(w.scope, w.step, w.attempt, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeFailed, Duration: end.took, Err: err,
			RetryAt: d.now.Add(retry.wait(w.entry.Extra().Retries+1, askedToWait(end.err))),
		})
		return
	}
	if bad := c.rebase(); bad != nil {
		c.writes = nil
		ended = &toolEnded{}
		err = (&toolEnd{err: errStateChanged(bad)}).result(c, w.agent.limits.ResultBytes, &ended.result)
	}
	if changed := stateChange(c.maskedWrites(d.mask)); changed != nil {
		d.add(w.scope, w.step, w.attempt, changed)
	}
	if end.err != nil && d.cutOff() {
		return // it stays begun: the next driver finds it so
	}
	outcome := event.OutcomeDone
	switch {
	case d.ctx.Err() != nil && errors.Is(end.err, d.ctx.Err()):
		outcome = event.OutcomeCancelled
	case end.unknown:
		outcome = event.OutcomeInDoubt
		ended.result.Content = []event.Block{&event.Text{Text: "In doubt: the program stopped while this tool was running, " +
			"and what became of it could not be found out (" + err.Message + "). Find out before doing it again."}}
	}
	if _, answers := c.tool.(*answerTool); answers && ended.result.IsError {
		c.endTurn, c.returns = false, false // a hook did not let it pass
	}
	// One by one: a literal would be made elsewhere, and copied.
	ended.Step, ended.Outcome, ended.Result, ended.Err = event.StepTool, outcome, &ended.result, err
	ended.Duration, ended.EndTurn, ended.ReturnDirect, ended.Found = end.took, c.endTurn, c.returns, w.foundBy(d.offer(w.scope, w.agent))
	if o := w.agent.offload; o != nil {
		ended.Shown = o.shown(d.view.Last+1, c.tool, &ended.result)
	}
	d.add(w.scope, w.step, w.attempt, &ended.StepEnded)
	if c.more != nil {
		d.record(w.scope, w.step, w.attempt, c.more.siftedBy)
	}
}

// toolEnded is the end of a tool call and its result in one piece of memory.
type toolEnded struct {
	event.StepEnded
	result event.ToolResult
}

// settleModel folds the end of a model call: its message, or its failure with the time
// and the model of the next attempt, which are decided here once and written.
func (d *driver) settleModel(w *work) {
	end := w.answer
	d.ran(w.scope, w.step)
	if end.taken != "" && (end.message != nil || !d.cutOff()) {
		d.takeBack(w, end.taken)
	}
	if end.again && w.attempt < hookTries && d.ctx.Err() == nil {
		d.anew(w)
		return
	}
	if end.message != nil {
		if w.scope.Depth == 0 {
			d.partial = nil
		}
		d.add(w.scope, w.step, w.attempt, end.message)
		d.record(w.scope, w.step, w.attempt, end.siftedBy)
		d.reportUsage(w)
		return
	}
	if d.cutOff() {
		return // the next driver finds it begun, and begins it again
	}
	failed := w.charge().ended(event.StepModel, event.OutcomeFailed)
	failed.UsageUnknown, failed.Duration = !end.known, end.took
	failed.Err = modelError(w.info.Name, end.err)
	retry := w.agent.retry
	next := w.agent.instead(w.info.Name, failed.Err)
	switch {
	case d.ctx.Err() != nil:
		failed.Outcome = event.OutcomeCancelled
	case next != nil:
		failed.RetryAt, failed.Fallback = d.now, next.Info().Name
	case failed.Err.Kind == event.ErrTimeout, failed.Err.Kind == event.ErrQuota: // it would be so again
	case failed.Err.Kind.Info().Retry:
		if after, again := retry.after(w.scope.Model.Tries, w.scope.Model.Unreached, failed.Err); again {
			failed.RetryAt = d.now.Add(after)
		}
	}
	if w.scope.Depth == 0 {
		d.partial = end.partial
	}
	d.add(w.scope, w.step, w.attempt, failed)
	d.reportUsage(w)
}

// quickly is the longest wait before a call that reached no server is made again.
const quickly = time.Second

// after returns how long to wait before the next attempt, and whether there is one. A call that
// reached no server is made again once: unreached counts those just before.
func (r *Retry) after(tries, unreached int, err *event.Error) (time.Duration, bool) {
	switch {
	case tries >= r.Attempts:
		return 0, false
	case model.Unreached(err):
		return min(r.wait(1, 0), quickly), unreached == 0
	default:
		return r.wait(tries, err.RetryAfter), true
	}
}

// wait is how long to wait after attempt number n has failed.
func (r *Retry) wait(n int, asked time.Duration) time.Duration {
	w := r.Base
	for i := 1; i < n && w < r.Max; i++ {
		w *= 2
	}
	w = min(w, r.Max)
	if !r.Exact && w > 1 {
		w -= rand.N(w / 2) //nolint:gosec // jitter needs no secrecy
	}
	return max(w, asked)
}

// stateChange splits what a call wrote into values and removals.
func stateChange(writes map[string]json.RawMessage) *event.StateChanged {
	if len(writes) == 0 {
		return nil
	}
	b := &event.StateChanged{}
	for k, v := range writes {
		if v == nil {
			b.Delete = append(b.Delete, k)
			continue
		}
		if b.Set == nil {
			b.Set = make(map[string]json.RawMessage, len(writes))
		}
		b.Set[k] = v
	}
	slices.Sort(b.Delete)
	return b
}
