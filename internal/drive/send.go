package drive

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
)

// send sends an event to the watchers and the reader. A reader that stops reading cancels the run.
func (d *driver) send(e *event.Event) {
	if len(d.out.watchers) > 0 {
		d.callEventSent(*e)
	}
	if d.out.stopped {
		return
	}
	d.out.reading = true
	more := d.out.sink(*e)
	d.out.reading = false
	if !more {
		d.out.stopped = true
		d.stop()
	}
}

// sendLive sends a live piece of a step.
func (d *driver) sendLive(s *fold.Scope, step string, attempt int, now time.Time, body event.Body) {
	d.out.live++
	e := event.Event{Body: body}
	d.fillHeader(&e.Header, s, step, attempt)
	e.Time, e.N, e.Epoch = now, d.out.live, d.lease.held.Epoch
	d.send(&e)
}

// callEventSent calls the hooks that see the stream.
func (d *driver) callEventSent(e event.Event) {
	if d.out.sent == nil {
		d.out.sent = &hook.EventSent{}
	}
	s := d.out.sent
	base := d.ctx
	if scope := d.view.Run.Scope(e.Scope); scope != nil && scope.Closed == nil {
		base = d.contextOf(scope)
	}
	s.Event, s.Context, s.Tool = e, base, nil
	begun, begins := e.Body.(*event.StepBegun)
	if begins && begun.Step == event.StepTool {
		if scope := d.view.Run.Scope(e.Scope); scope != nil {
			s.Tool = d.offer(scope, d.agentIn(scope)).Tool(begun.Tool)
		}
	}
	for i := range d.out.watchers {
		if err := d.out.watchers[i].Safely(d.ctx, s); err != nil {
			d.failWith(err)
			return
		}
	}
	if !begins || s.Context == base || s.Context == nil {
		return
	}
	for _, w := range d.exec.todo {
		if w.step != e.Step || w.attempt != e.Attempt {
			continue
		}
		w.ctx = s.Context //nolint:fatcontext // one step has a name and an attempt
		if w.call != nil {
			w.call.Context = s.Context
		}
	}
}
