package braid

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
)

// How a model is called. Where something else runs too, its pieces come to the driver as
// everything does. Where nothing does, they go from whoever reads them off the model
// straight to the reader, without a channel between: streaming costs no hand-over for each
// piece. That one is the driver's own goroutine where nobody can stop the run, and where the model
// has promised to stop when the run does. Anywhere else it is the driver's helper, while the
// driver waits and does nothing: of a model that does not stop the helper can be left behind.

// callAlone calls a model while nothing else runs, and folds its end.
func (d *driver) callAlone(w *work) {
	if d.sendLive == nil {
		d.sendLive = func(b event.Body) bool {
			e := &d.inline
			d.live++
			e.N, e.Time, e.Body = d.live, time.Now(), b
			d.send(*e)
			return !d.broken
		}
	}
	d.inline = event.Event{}
	d.head(&d.inline.Header, w.scope, w.step, w.attempt)
	d.inline.Epoch = d.lease.Epoch
	if d.private || d.prompt(w) {
		d.callModel(w, d.asm, d.sendLive)
	} else if !d.callAway(w) {
		return // decide ends the run
	}
	d.now = w.begun.Add(w.answer.took)
	d.settleModel(w)
	if w == &d.model.work {
		*d.model = modelWork{}
	}
}

// prompt reports whether a model call ends as soon as the run is to stop: its model has promised
// it, and nothing else that could be slow stands beside it.
func (d *driver) prompt(w *work) bool {
	return !d.hooked && Cancellable(w.model) && !guardrail.HasChecks(d.guardsOf(w.agent, GuardOutput))
}

// callModel calls a model and the hooks after it.
func (d *driver) callModel(w *work, a *assembler, send func(event.Body) bool) {
	ctx := w.within(d.ctx)
	defer func() {
		if a.sending {
			return // the reader's own panic goes on
		}
		if v := recover(); v != nil {
			w.answer.fail(panicked("model "+w.info.Name, "what follows the model", v))
		}
	}()
	guards := d.guardsOf(w.agent, GuardOutput)
	if guardrail.HasChecks(guards) {
		send = guardrail.WithholdDeltas(send)
	}
	if d.mask == nil {
		runModel(ctx, w, a, d.work.Models, send)
	} else {
		deltas := guardrail.MaskDeltas(d.mask, send)
		runModel(ctx, w, a, d.work.Models, deltas.Send)
		w.lift(deltas, a)
	}
	d.filterAnswer(ctx, w, guards)
	if list := w.agent.hooks.At(hooks.AfterModel); len(list) > 0 {
		w.tellAfterModel(ctx, list, d.agent.limits.Grace)
		d.filterAnswer(ctx, w, guards) // a hook may have changed it
	}
}

// filterAnswer passes a model's answer through the guardrails, also when the run is to stop: what the model said
// until then may be shown.
func (d *driver) filterAnswer(ctx context.Context, w *work, guards []guardrail.Rule) {
	if len(guards) == 0 {
		return
	}
	ctx, cancel := afterwards(ctx, d.agent.limits.Grace)
	defer cancel()
	w.answer.filter(guardrail.New(ctx, guards))
}

// runAside calls a model beside the driver, because something else runs too.
func (d *driver) runAside(w *work) {
	back := false
	defer func() {
		if !back {
			w.answer.fail(endedGoroutine("model "+w.info.Name, "the model or a hook after it"))
		}
		d.deliver(w)
	}()
	d.callModel(w, &assembler{}, func(b event.Body) bool {
		select {
		case d.arrivals <- arrival{work: w, live: b}:
			return true
		case <-d.quit:
			return false
		case <-d.ctx.Done():
			return false
		}
	})
	back = true
}

// callAway lets the helper call a model, and waits for it. It reports whether the model came
// back: one that does not within the grace period after the run is to stop is left
// behind, as a tool is.
func (d *driver) callAway(w *work) bool {
	d.expect()
	d.turn.ended = false
	w.turn = &d.turn
	d.hand(w)
	back := d.waitFor(w, d.ctx.Done(), nil)
	if !back {
		grace := time.NewTimer(max(d.agent.limits.Grace, 0))
		defer grace.Stop()
		back = d.waitFor(w, nil, grace.C)
	}
	if !back {
		d.leaveModel(w)
	}
	if x := d.turn.broke; x != nil {
		x.goOn()
	}
	return back
}

// waitFor waits until the model has ended, the run is to stop or the time is over. It reports
// whether it was the first. Whatever else arrives is of steps that were left behind.
func (d *driver) waitFor(w *work, stop <-chan struct{}, over <-chan time.Time) bool {
	for {
		select {
		case a := <-d.arrivals:
			if a.work == w {
				d.helper.busy = nil
				return true
			}
			d.arrive(a)
		case <-stop:
			return false
		case <-over:
			return false
		}
	}
}

// leaveModel leaves a model call behind that the helper is stuck in. It waits for a reader
// who has a piece of the answer just now; from then on nothing comes through any more.
func (d *driver) leaveModel(w *work) {
	d.turn.leave()
	d.graced, d.abandoned = true, true
	w.left = d.asm.used()
	d.flights = append(d.flights, w)
	if !d.turn.ended && w.scope.Depth == 0 && len(d.guardsOf(w.agent, GuardOutput)) == 0 {
		d.asm.stop = event.StopCancelled
		d.partial = d.asm.content(w)
	}
	close(d.turn.gone)
	d.now = time.Now()
}

// callHere is callAway on the helper's side. The goroutine is the call's until the model comes
// back, also where the driver is gone by then.
func (d *driver) callHere(w *work) {
	returned := false
	defer func() {
		if !returned {
			w.answer.fail(endedGoroutine("model "+w.info.Name, "the model or a hook after it"))
		}
		select {
		case d.arrivals <- arrival{work: w}:
		case <-d.quit:
		}
	}()
	d.callModel(w, d.asm, d.sendLive)
	returned = true
}

// turn is taken by a model call on the helper for each piece of its answer, so that the driver
// can leave it behind between two of them. It is no mutex because of tests: who waits
// for a mutex stops their clock.
type turn struct {
	state atomic.Uint32
	// free is closed by the call when it gives a turn back that the driver waits for, gone by
	// the driver when it has left.
	free, gone chan struct{}
	// ended is set when the model has given its last piece.
	ended bool
	// broke is how the reader's loop left its body.
	broke *broken
}

// The states of a turn: nobody's, the call's, the call's while the driver waits, the driver's for good.
const (
	turnFree uint32 = iota
	turnTaken
	turnWanted
	turnGone
)

// begin takes the turn for the call; it reports whether the driver is still there.
func (t *turn) begin() bool {
	if t.state.CompareAndSwap(turnFree, turnTaken) {
		return true
	}
	<-t.gone
	return false
}

// end gives the turn back.
func (t *turn) end() {
	if !t.state.CompareAndSwap(turnTaken, turnFree) {
		t.state.Store(turnGone)
		close(t.free)
	}
}

// leave takes the turn for the driver, for good.
func (t *turn) leave() {
	t.free, t.gone = make(chan struct{}), make(chan struct{})
	for !t.state.CompareAndSwap(turnFree, turnGone) {
		if t.state.CompareAndSwap(turnTaken, turnWanted) {
			<-t.free
			return
		}
	}
}

// over says that the model gives nothing more.
func (t *turn) over() {
	if t != nil && t.begin() {
		t.ended = true
		t.end()
	}
}

// take takes in a piece of a model's answer. It reports whether the model is to go on.
func (w *work) take(a *assembler, c *Chunk, send func(event.Body) bool) bool {
	if t := w.turn; t != nil {
		if !t.begin() {
			return false
		}
		defer t.release(a)
	}
	body := a.take(c, time.Now)
	if body == nil {
		return true
	}
	a.sending = true
	goOn := send(body)
	a.sending = false
	return goOn
}

// release gives the turn back. A panic of the reader is kept for its own goroutine; the model is
// told to stop, as by a reader that leaves its loop.
func (t *turn) release(a *assembler) {
	if a.sending {
		t.broke = &broken{recover()}
	}
	t.end()
}

// broken is how a reader's loop left its body on the helper: with a panic, or with nil where it
// ended the goroutine.
type broken struct{ panicked any }

// goOn does to the driver's goroutine, which is the reader's, what the reader did.
func (b *broken) goOn() {
	if b.panicked == nil {
		runtime.Goexit()
	}
	panic(b.panicked) //nolint:forbidigo // it is the reader's own
}
