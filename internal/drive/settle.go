package drive

import (
	"context"
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/retry"
)

// perform starts what has begun, and takes in what has ended. It returns a step that runs alone and has to be watched.
func (d *driver) perform() (watched *Work) {
	todo := d.exec.todo
	d.exec.todo = d.exec.todo[:0]
	if d.ctx.Err() != nil {
		// The run was cancelled while the commit was written: what has begun there must not run any more.
		for _, w := range todo {
			d.abandon(w)
		}
		todo = nil
	}
	if !d.pending.awaited && len(todo) == 1 && d.undisturbed() {
		switch w := todo[0]; {
		case w.modelCall != nil && w.sum == nil && (d.cfg.unstoppable || d.stopsPromptly(w)):
			d.callAlone(w)
			return nil
		case w.modelCall != nil && w.sum == nil, w.call != nil && d.exec.order == nil:
			return w
		}
	}
	d.launchAll(todo)
	// Where something waits for the commit, it is decided before anything is taken in.
	if !d.pending.awaited {
		d.takeIn()
	}
	return nil
}

// undisturbed reports whether nothing but the one step that runs can move the
// run: no other step, no timer, no question that may be answered meanwhile.
func (d *driver) undisturbed() bool {
	return d.exec.running == 1 && d.exec.wakeAt.IsZero() &&
		!slices.ContainsFunc(d.view.Run.Questions, func(q *fold.Ask) bool { return !q.Answered })
}

// settle folds the end of a step. It reports false for a step that was abandoned.
func (d *driver) settle(w *Work) bool {
	i := slices.Index(d.exec.flights, w)
	if i < 0 {
		return false
	}
	d.exec.flights = slices.Delete(d.exec.flights, i, i+1)
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

// settleTool takes in a tool call that has ended beside the driver. It has passed the stages of foreign code.
func (d *driver) settleTool(w *Work) {
	d.ran(w.scope, w.step)
	w.call.close()
	d.writeSaved(w)
	if asked := w.call.questions.pending(); len(asked) > 0 {
		d.addAsked(w.scope, w.agent, w.step, w.attempt, asked)
		return
	}
	if w.end.err != nil && d.interrupted() {
		return // it stays begun: the next driver finds it so
	}
	switch {
	case d.stoppedIn(w.scope) != nil && errors.Is(w.end.err, context.Canceled) || d.ctx.Err() != nil && errors.Is(w.end.err, d.ctx.Err()):
		w.end.outcome = event.OutcomeCancelled
	case w.end.unknown:
		w.end.outcome = event.OutcomeInDoubt
		w.end.made.Content = []event.Block{&event.Text{Text: "In doubt: the program stopped while this tool was running, " +
			"and what became of it could not be found out (" + w.end.failure.Message + "). Find out before doing it again."}}
	}
	d.settleCall(w)
}

// writeSaved writes which artifacts a call has saved. They exist, whatever becomes of the call.
func (d *activeRun) writeSaved(w *Work) {
	for _, b := range w.call.saved() {
		if m := d.cfg.mask; m != nil {
			b.Name, b.MIME = m.Hide(b.Name), m.Hide(b.MIME)
		}
		d.add(w.scope, w.step, w.attempt, b)
	}
}

// settleModel writes the end of a model call: its message, or its failure with the time and the model of the next
// attempt. These are decided here once and written.
func (d *driver) settleModel(w *Work) {
	end := &w.answer
	d.ran(w.scope, w.step)
	if end.taken != "" && (end.message != nil || !d.interrupted()) {
		d.takeBack(w, end.taken)
	}
	if end.again && w.attempt < hookTries && d.stoppedIn(w.scope) == nil {
		d.askAgain(w)
		return
	}
	if end.message != nil {
		if w.scope.Depth == 0 {
			d.partial = nil
		}
		d.endModel(w.scope, w.step, w.attempt, &modelCallEnd{message: end.message, guardedBy: end.guardedBy})
		d.reportUsage(w)
		return
	}
	if d.interrupted() {
		return // the next driver finds it begun, and begins it again
	}
	failed := &modelCallEnd{
		outcome: event.OutcomeFailed, charge: w.charge(), known: end.known, err: modelError(w.info.Name, end.err), took: end.took,
	}
	next := w.agent.instead(w.info.Name, failed.err)
	switch {
	case d.stoppedIn(w.scope) != nil:
		failed.outcome = event.OutcomeCancelled
	case next != nil:
		failed.retryAt, failed.fallback = d.now, next.Info().Name
	case failed.err.Kind == event.ErrTimeout, failed.err.Kind == event.ErrQuota: // it would be so again
	case failed.err.Kind.Info().Retry:
		if after, again := retry.After(&w.agent.Retry, w.scope.Model.Tries, w.scope.Model.Unreached, failed.err); again {
			failed.retryAt = d.now.Add(after)
		}
	}
	if w.scope.Depth == 0 {
		d.partial = end.partial
	}
	d.endModel(w.scope, w.step, w.attempt, failed)
	d.reportUsage(w)
}

// askAgain ends a model call that a hook wants made once more. What the dropped answer used counts.
func (d *activeRun) askAgain(w *Work) {
	end := &w.answer
	failed := &modelCallEnd{outcome: event.OutcomeFailed, known: end.known, took: end.took, retryAt: d.now.Add(end.wait), byHook: true}
	if end.message != nil {
		failed.charge = cost.Charge{Usage: end.usage, Nano: end.message.CostNanoUSD, Estimated: end.message.Estimated}
		failed.err = &event.Error{Op: "hook", Kind: event.ErrModel, Message: "a hook wants another answer"}
	} else {
		failed.charge, failed.err = w.charge(), modelError(w.info.Name, end.err)
	}
	d.endModel(w.scope, w.step, w.attempt, failed)
	d.reportUsage(w)
}
