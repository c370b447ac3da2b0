package drive

import (
	"sync/atomic"
	"time"
)

// A tool or a model may ignore its context, and the run must end on time all the same. So the driver's own goroutine does
// not call it. Where it is the only step that runs, the driving moves with it: a second goroutine, the helper, runs the step
// and then drives on, while the driver's own goroutine watches. If the step hangs, the driver's own goroutine takes the
// driving back, and the step goes on beside it like any other. So a run pays for two switches of goroutines where it
// would pay for two in each step. Ten tool cycles (row b of the bench, in turn on a busy machine) take 4.7 instead of 6.7 times the
// processor time of the floor.
//
// The body of a Stream goes along with the driving. If it stayed on the loop's goroutine, each tool call would pay for
// the two switches again, and each piece of a watched model for a channel. Measured in turn by processor time, ten tool
// cycles then take 200 instead of 150 µs, and 200 pieces 160 instead of 75 µs.

// shift is a stretch of the driving on a helper.
type shift struct {
	baton

	d *driver
	// steps counts the steps of the shift.
	steps int64
	// work is the step in which the helper is or was last.
	work *Work
	// alarm has the driver's own goroutine look, and armed says that it will.
	alarm *time.Timer
	armed atomic.Bool

	// err is how the drive ended on the helper.
	err error
	// left is how the reader's loop left its body on the helper; nil where it did not.
	left *broken
}

// patience is how long a tool runs, once or twice, until the driver's own goroutine takes the driving back.
const patience = time.Millisecond

// handOver lets a helper run a step and drive on. It reports whether the drive is over; otherwise the driving is back here.
func (d *driver) handOver(w *Work) (over bool, err error) {
	s := &shift{d: d, baton: baton{wake: make(chan struct{}, 1)}}
	s.armed.Store(true)
	s.alarm = time.AfterFunc(patience, func() { notify(s.wake) })
	defer s.alarm.Stop()
	go s.run(w)
	end := s.watch()
	if s.left != nil {
		s.left.rethrow()
	}
	if end == shiftOver {
		return true, s.err
	}
	d.now = time.Now()
	w = s.work
	if w.call != nil || end == shiftGiven {
		d.takeIn()
	} else {
		d.abandonModelCall(w) // decide ends the run
	}
	if w.modelCall != nil && w.gate.readerLeft != nil {
		w.gate.readerLeft.rethrow()
	}
	return false, nil
}

// watch waits until the drive is over or the driving is back, and returns where the helper is then. A tool is in the way when
// it takes long, and as soon as the run is to stop. A model is in the way when the grace period after that is over.
func (s *shift) watch() int64 {
	stop := s.d.ctx.Done()
	var seen, late int64
	var grace <-chan time.Time
	for {
		select {
		case <-s.wake:
		case <-stop:
			stop = nil
		case <-grace:
			late = seen
		}
		s.armed.Store(false)
		at := s.at.Load()
		if at == shiftGiven || at == shiftOver {
			return at
		}
		inTheWay := false
		switch {
		case at < firstStep:
		case at%2 == 0:
			if inTheWay = at == seen || stop == nil; !inTheWay {
				s.arm()
			}
			seen = at
		case s.d.ctx.Err() != nil:
			if inTheWay = at == late; at != seen {
				grace = time.After(max(s.d.cfg.agent.Limits.Grace, 0))
			}
			seen = at
		}
		if inTheWay && s.at.CompareAndSwap(at, shiftTaken) {
			return shiftTaken
		}
	}
}

// arm has the driver's own goroutine look after a while.
func (s *shift) arm() {
	s.armed.Store(true)
	s.alarm.Reset(patience)
}

// run is the helper: it runs a step, and drives on while the driving is its own.
func (s *shift) run(w *Work) {
	if w.call != nil {
		growStack(0)
	}
	over := false
	defer func() {
		v := recover()
		if at := s.at.Load(); at == shiftTaken || at == shiftGiven {
			return
		}
		if !over {
			s.left = &broken{v}
		}
		s.at.Store(shiftOver)
		notify(s.wake)
	}()
	for w != nil {
		if !s.step(w) {
			return
		}
		w, s.err = s.d.rounds()
	}
	over = true
}

// step runs a step and folds its end. It reports whether the driving is still the helper's; otherwise the end of the step
// is a report, as of a step beside the driver.
func (s *shift) step(w *Work) bool {
	d := s.d
	d.exec.flights = append(d.exec.flights, w)
	if !s.watched(w) {
		return false
	}
	if w.call != nil {
		d.now = time.Now()
		d.settle(w)
		return true
	}
	if left := w.gate.readerLeft; left != nil {
		left.rethrow()
	}
	d.now = w.begun.Add(w.answer.took)
	d.settle(w)
	d.ownAgain(w)
	return true
}

// watched runs a step while the driver's own goroutine watches. It reports whether the driving is still the helper's.
func (s *shift) watched(w *Work) (mine bool) {
	d, to := s.d, s.d.exec.reporter()
	s.work = w
	s.steps++
	at := 2*s.steps + firstStep
	if w.call == nil {
		at++
		d.prepareAlone(w)
		w.gate = newStreamGate()
	} else {
		w.call.news = callNews{to.to, to.Quit, &s.baton, at}
	}
	returned := false
	defer func() {
		then := shiftDrives
		if !returned {
			then = shiftGiven
		}
		if mine = s.at.CompareAndSwap(at, then) && returned; !mine {
			notify(s.wake)
			d.reportEnd(w, to)
		}
	}()
	s.at.Store(at)
	if w.call != nil && !s.armed.Load() {
		s.arm()
	}
	if d.ctx.Err() != nil {
		notify(s.wake) // it may have looked before this step
	}
	if w.call != nil {
		d.runTool(w)
	} else {
		d.callModelAlone(w)
	}
	returned = true
	return true
}
