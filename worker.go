package braid

import (
	"runtime"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
)

// helper is the one idle goroutine that a driver keeps for what runs by itself, single
// tool calls and model calls: a fresh goroutine would grow its stack anew in every cycle.
type helper struct {
	jobs chan *work
	done chan struct{}
	busy *work
}

// launch runs a step beside the driver, or queues it where as many run as may.
func (d *driver) launch(w *work) {
	d.expect()
	if !d.mayLaunch(w) {
		d.queue = append(d.queue, w)
		return
	}
	d.flights = append(d.flights, w)
	if w.call == nil {
		if w.sum != nil {
			go d.summarise(w)
			return
		}
		go d.runAside(w)
		return
	}
	w.call.arrivals, w.call.quit = d.arrivals, d.quit
	if d.running > 1 || d.helper != nil && d.helper.busy != nil {
		go d.runTool(w)
		return
	}
	d.hand(w)
}

// expect makes the channels between the driver and what runs beside it.
func (d *driver) expect() {
	if d.arrivals == nil {
		d.arrivals = make(chan arrival, 8)
		d.quit = make(chan struct{})
	}
}

// hand gives a step to the helper, and to a new one where a tool that was left behind keeps the
// old one: that ends with its tool.
func (d *driver) hand(w *work) {
	if h := d.helper; h != nil && h.busy != nil {
		close(h.jobs)
		d.helper = nil
	}
	if d.helper == nil {
		d.helper = &helper{jobs: make(chan *work), done: make(chan struct{})}
		go d.help(d.helper)
	}
	d.helper.busy = w
	d.helper.jobs <- w
}

// mayLaunch reports whether a step has a place: one of all, and one of its tool's.
func (d *driver) mayLaunch(w *work) bool {
	if limit := d.agent.limits.Parallel; limit > 0 && len(d.flights) >= limit {
		return false
	}
	if w.call == nil || w.call.traits.Parallel <= 0 {
		return true
	}
	same, name := 0, w.call.tool.Spec().Name
	for _, f := range d.flights {
		if f.call != nil && f.call.traits.Parallel > 0 && f.call.tool.Spec().Name == name {
			same++
		}
	}
	return same < w.call.traits.Parallel
}

// launchNext runs the step that has waited longest, of those that have a place now. A
// step that ends makes room for one.
func (d *driver) launchNext() {
	if len(d.queue) == 0 || d.ctx.Err() != nil {
		return
	}
	i := slices.IndexFunc(d.queue, d.mayLaunch)
	if i < 0 {
		return
	}
	w := d.queue[i]
	d.queue = slices.Delete(d.queue, i, i+1)
	w.begun = d.now
	d.launch(w)
}

func (d *driver) help(h *helper) {
	over := false
	defer func() {
		if over {
			close(h.done)
			return
		}
		go d.help(h) // a tool or a model ended this goroutine
	}()
	for w := range h.jobs {
		if w.call == nil {
			d.callHere(w)
			continue
		}
		d.runTool(w)
	}
	over = true
}

// runTool runs a tool and the stages of foreign code after it, and delivers how that ended, whatever they do.
func (d *driver) runTool(w *work) {
	defer d.deliver(w)
	returned, passed := false, false
	defer func() {
		v := recover()
		if passed {
			return
		}
		switch {
		case v != nil:
			w.end.fail(panicked("tool "+w.call.Name, "what follows the tool", v))
		case returned:
			w.end.fail(endedGoroutine("tool "+w.call.Name, "a hook"))
		}
		w.end.make(w.call) // of fixed words
	}()
	runTool(w)
	returned = true
	d.passBeside(w)
	passed = true
}

// deliver hands a step that has ended to the driver, unless the driver has gone.
func (d *driver) deliver(w *work) {
	if d.gate != nil {
		d.gate.Pass("arrive " + w.step)
	}
	select {
	case d.arrivals <- arrival{work: w}:
	case <-d.quit:
	}
}

// takeIn waits until a step has ended, the run is to stop or a time has come, and
// then takes everything that is ready.
func (d *driver) takeIn() {
	d.setTimer()
	ended := false
	if d.helper != nil && d.helper.busy != nil {
		// Most single tools are quick: the one that was just handed over runs
		// first, and is often done when this goroutine has its turn again.
		runtime.Gosched()
		select {
		case a := <-d.arrivals:
			ended = d.arrive(a)
		default:
		}
	}
	for !ended {
		if d.gate != nil && d.inOrder(&ended) {
			continue
		}
		select {
		case a := <-d.arrivals:
			ended = d.arrive(a)
		case <-d.ctx.Done():
			ended = true // decide gives what still runs its grace
		case <-d.fired:
			d.timerAt = time.Time{}
			d.now = time.Now()
			d.expire()
			ended = true
		case <-d.work.Mail:
			ended = d.fetch()
		case <-d.poked:
			ended = d.fetch()
		case <-d.keeper.bell():
			ended = d.mail(d.keeper.letters())
		case <-d.draining():
			ended = true
		}
	}
	if d.gate != nil {
		d.gate.Pass("settle")
	}
	for more := true; more; {
		select {
		case a := <-d.arrivals:
			d.arrive(a)
		default:
			more = false
		}
	}
}

// inOrder takes in one of the things that are ready, always the same first: a
// simulation is to repeat itself, and a select chooses at random. It reports whether
// there was any.
func (d *driver) inOrder(ended *bool) bool {
	select {
	case a := <-d.arrivals:
		*ended = d.arrive(a)
		return true
	default:
	}
	select {
	case <-d.ctx.Done():
		*ended = true
		return true
	default:
	}
	select {
	case <-d.work.Mail:
		*ended = d.fetch()
		return true
	default:
	}
	select {
	case <-d.keeper.bell():
		*ended = d.mail(d.keeper.letters())
		return true
	default:
		return false
	}
}

// arrive takes in one piece of news. It reports whether a step has ended.
func (d *driver) arrive(a arrival) bool {
	d.now = time.Now()
	if a.live != nil {
		w := a.work
		if a.call != nil {
			w = d.flight(a.call.Step)
		}
		if w == nil || d.flight(w.step) != w {
			return false // of a step that was left behind
		}
		e := event.Event{Body: a.live}
		d.head(&e.Header, w.scope, w.step, w.attempt)
		e.Epoch, e.Time = d.lease.Epoch, d.now
		d.live++
		e.N = d.live
		d.send(e)
		return false
	}
	if d.helper != nil && d.helper.busy == a.work {
		d.helper.busy = nil
	}
	return d.settle(a.work)
}

// settleAfterStop gives cancelled steps the grace period to come back, once. What is
// still running then is left behind when its scope ends.
func (d *driver) settleAfterStop() {
	d.queue = nil
	defer func() { d.now = time.Now() }()
	if len(d.flights) == 0 || d.graced {
		return
	}
	grace := time.NewTimer(max(d.agent.limits.Grace, 0))
	defer grace.Stop()
	for len(d.flights) > 0 {
		select {
		case a := <-d.arrivals:
			d.arrive(a)
		case <-grace.C:
			d.graced = true
			return
		}
	}
}

// flight finds a running step by its name; nil if it does not run here.
func (d *driver) flight(step string) *work {
	for _, w := range d.flights {
		if w.step == step {
			return w
		}
	}
	return nil
}

// leave gives a step up, be it running or not yet: whatever it brings later
// changes nothing.
func (d *driver) leave(w *work) {
	d.abandoned = true
	if i := slices.Index(d.flights, w); i >= 0 {
		d.flights = append(d.flights[:i:i], d.flights[i+1:]...)
	}
	d.ran(w.scope, w.step)
	if w.call != nil {
		w.call.close()
	}
}

// expire leaves tools behind whose time is over.
func (d *driver) expire() {
	for _, w := range append([]*work(nil), d.flights...) {
		if due := w.due(); due.IsZero() || d.now.Before(due) {
			continue
		}
		d.endOverdueCall(w)
		d.launchNext()
	}
}

// setTimer sets the one timer to the earliest time that matters. It is not
// moved for a later one: a timer that fires early finds nothing due.
func (d *driver) setTimer() {
	at := d.wake
	for _, w := range d.flights {
		if due := w.due(); !due.IsZero() && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	if at.IsZero() || !d.timerAt.IsZero() && !at.Before(d.timerAt) {
		return
	}
	d.timerAt = at
	if d.timer == nil {
		// A function that rings, not a channel to wait on: waiting on a timer's
		// own channel moves the timer each time.
		fired := make(chan struct{}, 1)
		d.fired = fired
		d.timer = time.AfterFunc(at.Sub(d.now), func() { ring(fired) })
		return
	}
	d.timer.Reset(at.Sub(d.now))
}

// close frees what the driver holds. It waits for its idle goroutine; steps that
// were left behind find the door closed.
func (d *driver) close() {
	d.stop()
	d.broken = true
	if len(d.flights) > 0 {
		d.settleAfterStop()
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.quit != nil {
		close(d.quit)
	}
	if h := d.helper; h != nil {
		close(h.jobs)
		if h.busy == nil {
			<-h.done
		}
	}
}
