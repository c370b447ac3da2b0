package drive

import (
	"slices"
	"time"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/sched"
)

// executor holds the steps that the driver runs. It starts as many at once as the limits allow, queues the others, and
// takes in what they report.
type executor struct {
	// running counts the steps that have begun and have not ended, also those that are not started yet.
	running int
	// The steps in todo begin with the pending commit.
	todo []*Work
	// queue holds the steps for which there was no place, in the order in which they came.
	queue []*Work
	// flights holds the steps that were started.
	flights []*Work
	// reports is what steps report. It is made with the first step that runs beside the driver.
	reports chan Arrival
	// quit is closed when the drive is over.
	quit chan struct{}
	// alone serves the model calls with which nothing else runs.
	alone modelAlone
	// space is memory for steps that have not begun.
	space stepSpace
	// own runs models and tools; nil before the first one that runs beside the driver.
	own *ownRunner
	// graceSpent is set once cancelled steps have had the grace period.
	graceSpent bool
	// order is a simulation's; nil for none.
	order sched.Gate

	// wakeAt is the earliest time for which a scope waits; zero for none.
	wakeAt time.Time
	// timer fires at timerAt.
	timer *time.Timer
	// timerAt is zero while the timer is not set.
	timerAt time.Time
	// fired has something in it when the timer has fired.
	fired chan struct{}
}

// reporter returns where steps report, and makes the channels with the first one.
func (x *executor) reporter() Reporter {
	if x.reports == nil {
		x.reports = make(chan Arrival, 8)
		x.quit = make(chan struct{})
	}
	return Reporter{to: x.reports, Quit: x.quit}
}

// flight returns the running step of this name; nil if it does not run here.
func (x *executor) flight(step string) *Work {
	for _, w := range x.flights {
		if w.step == step {
			return w
		}
	}
	return nil
}

// mayStart reports whether a step has a place: one of the limit on all steps, and one of its tool's.
func (x *executor) mayStart(w *Work, limit int) bool {
	if limit > 0 && len(x.flights) >= limit {
		return false
	}
	if w.call == nil || w.call.traits().Parallel <= 0 {
		return true
	}
	same, name := 0, w.call.tool.Spec().Name
	for _, f := range x.flights {
		if f.call != nil && f.call.traits().Parallel > 0 && f.call.tool.Spec().Name == name {
			same++
		}
	}
	return same < w.call.traits().Parallel
}

// setTimer sets the one timer to the earliest time that matters. A later time does not move it: a timer that fires early
// finds nothing due.
func (x *executor) setTimer(now time.Time) {
	at := x.wakeAt
	for _, w := range x.flights {
		if due := w.due(); !due.IsZero() && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	if at.IsZero() || !x.timerAt.IsZero() && !at.Before(x.timerAt) {
		return
	}
	x.timerAt = at
	if x.timer == nil {
		fired := make(chan struct{}, 1)
		x.fired = fired
		x.timer = time.AfterFunc(at.Sub(now), func() { notify(fired) })
		return
	}
	x.timer.Reset(at.Sub(now))
}

// close stops the timer, and lets nobody report any more.
func (x *executor) close() {
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.quit != nil {
		close(x.quit)
	}
}

// own returns the runner of models and tools of this process.
func (d *driver) own() *ownRunner {
	if d.exec.own == nil {
		d.exec.own = &ownRunner{d: d}
	}
	return d.exec.own
}

// launch starts a step beside the driver, or queues it where as many run as may.
func (d *driver) launch(w *Work) {
	if d.place(w) {
		d.own().Start(w, d.exec.reporter())
	}
}

// place makes a step one that runs, or queues it where as many run as may. It reports whether the step is to start.
func (d *driver) place(w *Work) bool {
	if !d.exec.mayStart(w, d.cfg.agent.Limits.Parallel) {
		d.exec.queue = append(d.exec.queue, w)
		return false
	}
	d.exec.flights = append(d.exec.flights, w)
	return true
}

// launchAll starts steps that begin together. It may change the list.
func (d *driver) launchAll(todo []*Work) {
	tools := todo[:0]
	for _, w := range todo {
		switch {
		case w.call == nil:
			d.launch(w)
		case d.place(w):
			tools = append(tools, w)
		}
	}
	if len(tools) > 0 {
		d.own().startTools(tools, d.exec.reporter())
	}
}

// launchNext starts the step that has waited longest, of those that have a place now. A step that ends makes room for
// one.
func (d *driver) launchNext() {
	if len(d.exec.queue) == 0 || d.ctx.Err() != nil {
		return
	}
	i := slices.IndexFunc(d.exec.queue, func(w *Work) bool { return d.exec.mayStart(w, d.cfg.agent.Limits.Parallel) })
	if i < 0 {
		return
	}
	w := d.exec.queue[i]
	d.exec.queue = slices.Delete(d.exec.queue, i, i+1)
	w.begun = d.now
	d.launch(w)
}

// takeIn waits until a step has ended, the run is to stop or a time has come. Then it takes everything that is ready.
func (d *driver) takeIn() {
	d.exec.setTimer(d.now)
	for ended := false; !ended; {
		if d.exec.order != nil && d.inOrder(&ended) {
			continue
		}
		select {
		case a := <-d.exec.reports:
			ended = d.arrive(a)
		case <-d.ctx.Done():
			ended = true // decide gives what still runs its grace
		case <-d.exec.fired:
			d.exec.timerAt = time.Time{}
			d.now = time.Now()
			d.expire()
			ended = true
		case <-d.inbox.engine:
			ended = d.fetch()
		case <-d.inbox.wake:
			ended = d.fetch()
		case <-d.lease.renewer.Notified():
			ended = d.deliver(d.lease.renewer.TakeMail())
		case <-d.drainSignal():
			ended = true
		}
	}
	if d.exec.order != nil {
		d.exec.order.Pass("settle")
	}
	for more := true; more; {
		select {
		case a := <-d.exec.reports:
			d.arrive(a)
		default:
			more = false
		}
	}
}

// inOrder takes in one of the things that are ready, always the same first: a simulation is to repeat itself, and a
// select chooses at random. It reports whether there was any.
func (d *driver) inOrder(ended *bool) bool {
	select {
	case a := <-d.exec.reports:
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
	case <-d.inbox.engine:
		*ended = d.fetch()
		return true
	default:
	}
	select {
	case <-d.lease.renewer.Notified():
		*ended = d.deliver(d.lease.renewer.TakeMail())
		return true
	default:
		return false
	}
}

// arrive takes in one report. It reports whether the loop is to look.
func (d *driver) arrive(a Arrival) bool {
	if a.taken != nil {
		defer close(a.taken)
	}
	d.now = time.Now()
	w := a.Work
	if a.call != nil {
		w = d.exec.flight(a.call.Step)
	}
	if a.Live != nil {
		if w != nil && slices.Contains(d.exec.flights, w) { // else it is of a step that was abandoned
			d.sendLive(w.scope, w.step, w.attempt, d.now, a.Live)
		}
		return false
	}
	return d.settle(w)
}

// settleAfterStop gives cancelled steps the grace period to come back, once. Those that still run then are abandoned
// when their scope ends.
func (d *driver) settleAfterStop() {
	d.exec.queue = nil
	defer func() { d.now = time.Now() }()
	if len(d.exec.flights) == 0 || d.exec.graceSpent {
		return
	}
	grace := time.NewTimer(max(d.cfg.agent.Limits.Grace, 0))
	defer grace.Stop()
	for len(d.exec.flights) > 0 {
		select {
		case a := <-d.exec.reports:
			d.arrive(a)
		case <-grace.C:
			d.exec.graceSpent = true
			return
		}
	}
}

// abandon gives a step up, whether it was started or not. What it reports later changes nothing.
func (d *driver) abandon(w *Work) {
	if i := slices.Index(d.exec.flights, w); i >= 0 {
		d.exec.flights = append(d.exec.flights[:i:i], d.exec.flights[i+1:]...)
	}
	d.ran(w.scope, w.step)
	d.own().Abandon(w)
}

// expire abandons tools whose time is over.
func (d *driver) expire() {
	for _, w := range slices.Clone(d.exec.flights) {
		if due := w.due(); due.IsZero() || d.now.Before(due) {
			continue
		}
		d.endOverdueCall(w)
		d.launchNext()
	}
}

// close frees what the driver holds. Steps that were abandoned find nobody to report to.
func (d *driver) close() {
	d.stop()
	d.out.stopped = true
	if len(d.exec.flights) > 0 {
		d.settleAfterStop()
	}
	d.exec.close()
}

// runs notes that the driver runs a step of the scope, and ran that it does not any more.
func (d *driver) runs(s *fold.Scope, step string) {
	t := d.thread(s)
	t.running = append(t.running, step)
	d.exec.running++
}

// ran is the end of [driver.runs].
func (d *driver) ran(s *fold.Scope, step string) {
	t := d.thread(s)
	if i := slices.Index(t.running, step); i >= 0 {
		t.running = slices.Delete(t.running, i, i+1)
	}
	d.exec.running--
}
