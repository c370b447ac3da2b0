package drive

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/model"
)

// While other steps run, a model call runs beside the driver, and its pieces are reports. If it runs alone, its pieces go
// straight to the reader, because a channel would cost each piece a hand-over. It then runs on the goroutine that drives
// if nothing can stop the run, or if the model promises to stop with it. Otherwise the call is watched (shift.go): if the
// model ignores cancellation, the driver abandons it.

// modelAlone is what the model calls of a driver with which nothing else runs use, one after another.
type modelAlone struct {
	d *driver
	// asm puts the answer together.
	asm assembler
	// piece is the event of a piece. All pieces of a call share its header: filling it in for each of 500 (row a of the
	// bench) takes 5 ns longer each.
	piece *event.Event
	// send is sendPiece.
	send func(event.Body) bool
}

// sendPiece sends a piece of the answer to the reader. It reports whether the model is to go on.
func (a *modelAlone) sendPiece(b event.Body) bool {
	out := &a.d.out
	out.live++
	a.piece.N, a.piece.Time, a.piece.Body = out.live, a.asm.came, b
	a.d.send(a.piece)
	return !out.stopped
}

// callAlone calls a model while nothing else runs, and folds its end.
func (d *driver) callAlone(w *Work) {
	d.prepareAlone(w)
	d.callModel(w, &d.exec.alone.asm, d.exec.alone.send)
	d.now = w.begun.Add(w.answer.took)
	d.settleModel(w)
	d.ownAgain(w)
}

// prepareAlone makes the memory for calls with which nothing else runs that of a call.
func (d *driver) prepareAlone(w *Work) {
	if d.exec.alone.send == nil {
		d.exec.alone.d, d.exec.alone.send, d.exec.alone.piece = d, d.exec.alone.sendPiece, &event.Event{}
	}
	head := &d.exec.alone.piece.Header
	d.fillHeader(head, w.scope, w.step, w.attempt)
	head.Epoch = d.lease.held.Epoch
}

// ownAgain takes back the memory of a call that has wholly ended. A hook may have kept the request.
func (d *driver) ownAgain(w *Work) {
	if !d.cfg.hooked {
		d.exec.space.giveBack(w)
	}
}

// stopsPromptly reports whether a model call ends as soon as the run is to stop: its model promises that, and no hook or
// guardrail after it can be slow.
func (d *activeRun) stopsPromptly(w *Work) bool {
	return !d.cfg.hooked && model.IsCancellable(w.model) && !guardrail.HasChecks(d.guardsOf(w.agent, guardrail.Output))
}

// callModel calls a model and the hooks after it.
func (d *activeRun) callModel(w *Work, a *assembler, send func(event.Body) bool) {
	ctx := w.within(d.ctx)
	defer func() {
		if a.sending {
			return // the reader's own panic goes on
		}
		if v := recover(); v != nil {
			w.answer.fail(foreign.Panicked("model "+w.info.Name, "what follows the model", v))
		}
	}()
	guards := d.guardsOf(w.agent, guardrail.Output)
	if guardrail.HasChecks(guards) {
		send = guardrail.WithholdDeltas(send)
	}
	if d.cfg.mask == nil {
		runModel(ctx, w, a, d.cfg.work.Models, send)
	} else {
		deltas := guardrail.MaskDeltas(d.cfg.mask, send)
		runModel(ctx, w, a, d.cfg.work.Models, deltas.Send)
		w.lift(deltas, a)
	}
	d.filterAnswer(ctx, w, guards)
	if list := w.agent.Hooks.At(hooks.AfterModel); len(list) > 0 {
		w.callAfterModel(ctx, list, d.cfg.agent.Limits.Grace)
		d.filterAnswer(ctx, w, guards) // a hook may have changed it
	}
}

// filterAnswer passes a model's answer through the guardrails, also when the run is to stop: what the model said
// until then may be shown.
func (d *activeRun) filterAnswer(ctx context.Context, w *Work, guards []guardrail.Rule) {
	if len(guards) == 0 {
		return
	}
	ctx, cancel := afterwards(ctx, d.cfg.agent.Limits.Grace)
	defer cancel()
	w.answer.filter(guardrail.New(ctx, guards))
}

// callModelBeside calls a model while other steps run, too.
func (d *driver) callModelBeside(w *Work, to Reporter) {
	back := false
	defer func() {
		if !back {
			w.answer.fail(foreign.EndedGoroutine("model "+w.info.Name, "the model or a hook after it"))
		}
		d.reportEnd(w, to)
	}()
	d.callModel(w, &assembler{}, func(b event.Body) bool {
		select {
		case to.to <- Arrival{Work: w, Live: b}:
			return true
		case <-to.Quit:
			return false
		case <-w.within(d.ctx).Done():
			return false
		}
	})
	back = true
}

// callModelAlone calls a model that is watched, and leaves its end in w however it ends.
func (d *driver) callModelAlone(w *Work) {
	returned := false
	defer func() {
		if !returned {
			w.answer.fail(foreign.EndedGoroutine("model "+w.info.Name, "the model or a hook after it"))
		}
	}()
	d.callModel(w, &d.exec.alone.asm, d.exec.alone.send)
	returned = true
}

// abandonModelCall gives a model call up. It waits for a reader who has a piece of the answer just now; no piece comes
// after that.
func (d *driver) abandonModelCall(w *Work) {
	w.gate.enter()
	d.exec.graceSpent = true
	left := d.exec.alone.asm.used()
	w.left = &left
	if !w.gate.ended && w.scope.Depth == 0 && len(d.guardsOf(w.agent, guardrail.Output)) == 0 {
		d.exec.alone.asm.stop = event.StopCancelled
		d.partial = d.exec.alone.asm.content(w)
	}
	w.gate.abandoned = true
	w.gate.leave()
	d.now = time.Now()
}
