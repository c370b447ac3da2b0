package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/braidrun/braid/event"
)

// dispatch starts the tasks for which there is room.
func (l *Local) dispatch() {
	if l.phase != started {
		return
	}
	for t := l.queue.next(); t != nil; t = l.queue.next() {
		if l.putOff(t) {
			continue
		}
		l.start(t)
	}
}

// start drives a task on a goroutine of its own.
func (l *Local) start(t *task) {
	l.clock()
	ctx, cancel := context.WithCancelCause(l.life.base)
	t.cancel = cancel
	t.mail = make(chan struct{}, 1)
	// A drive may wait for long, so its goroutine keeps nothing large on its stack.
	w := &Work{Run: t.run, Mail: t.mail, Draining: l.life.draining}
	l.life.drives.Go(func() {
		var out Outcome
		err := error(&event.Error{Op: "drive", Kind: event.ErrInternal, Message: "the drive ended its goroutine"})
		defer func() {
			cancel(nil)
			l.finish(t, out, err)
		}()
		out, err = l.call(ctx, w)
	})
}

// clock measures how fast runs start while there is a backlog.
func (l *Local) clock() {
	now := time.Now()
	if l.queue.backlog > 0 && !l.started.IsZero() {
		l.pace += (now.Sub(l.started) - l.pace) / 16
	}
	l.started = now
}

// call calls the drive. A panic becomes this run's error.
func (l *Local) call(ctx context.Context, w *Work) (out Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &event.Error{
				Op: "drive", Kind: event.ErrInternal, Message: "driving the run failed",
				Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack()),
			}
		}
	}()
	return l.drive(ctx, *w)
}

// finish handles the end of a drive and starts what can start now.
func (l *Local) finish(t *task, out Outcome, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	woken := false
	select {
	case <-t.mail:
		woken = true
	default:
	}
	t.mail, t.cancel, t.urgent, t.mark, t.stopped = nil, nil, false, 0, false
	l.queue.done(t)
	if l.suspect == t {
		l.suspect = nil
	}
	unknown := t.admitted != nil && !t.admitted()
	t.admitted = nil
	if unknown && l.phase != drained {
		l.next(t)
		l.dispatch()
		return
	}
	if l.phase == drained {
		// The journal knows its status, and the next process reads it.
		l.forget(t)
		return
	}
	switch kind := event.KindOf(err); {
	case err == nil && out.Status.Ended(), kind == event.ErrConflict:
		l.next(t)
	case err == nil && out.Status == event.RunWaiting:
		t.fails, t.failure = 0, nil
		l.park(t, out.WakeAt, woken)
	case kind == event.ErrLeaseLost:
		l.forget(t) // another driver has it; if that one dies the run is due
	case kind == event.ErrLocked:
		l.locked(t, err)
	default:
		l.failed(t, err)
	}
	l.dispatch()
}

// next forgets an ended run and starts the next one of its conversation. The journal may have
// admitted that one for mail that came too late. If the run was woken, a sweep looks for it at
// once. Runs that were themselves created for late mail are left to the regular sweeps, so that a
// drive that never reads mail does not spin.
func (l *Local) next(t *task) {
	if t.woken {
		l.wantSweep()
	}
	k := l.talks[t.talkKey()]
	l.forget(t)
	k.again()
	l.queue.settle(k)
}

// park keeps a waiting run until its time comes. A run that waits only for mail is forgotten: Wake
// brings it back.
func (l *Local) park(t *task, wake time.Time, woken bool) {
	switch {
	case woken:
		l.enqueue(t)
	case wake.IsZero():
		l.forget(t)
	default:
		l.delay(t, wake)
	}
}

// locked waits for the driver or the run that has the conversation.
func (l *Local) locked(t *task, err error) {
	after := retryAfter(err)
	if after > 0 && l.options.Shared {
		l.forget(t) // another process drives it; if that one dies the run is due
		return
	}
	if after > 0 {
		l.delay(t, time.Now().Add(after))
		return
	}
	// An earlier run has not ended. When it ends here, this one is next. When it ends in another
	// process, a sweep returns this one.
	t.refused = true
	l.enqueue(t)
}

// fullRetry bounds how long a run waits for storage space.
const fullRetry = time.Second

// failed tries again later.
func (l *Local) failed(t *task, err error) {
	wait := l.options.RetryMost
	if shift := min(t.fails, 30); l.options.Retry < wait>>shift {
		wait = l.options.Retry << shift
	}
	t.fails++
	t.failure = err
	full := errors.Is(err, event.ErrStorageFull)
	if full {
		wait = min(wait, fullRetry) // space may appear at any moment, and asking is cheap
	}
	wait = max(wait, retryAfter(err))
	l.delay(t, time.Now().Add(wait))
	if full && t.fails > 1 {
		return // it was logged before
	}
	if err == nil {
		return // released without a drain
	}
	l.options.Log.Warn("a run could not be driven",
		"tenant", t.run.Tenant, "conversation", t.run.Conversation, "run", t.run.ID,
		"attempt", t.fails, "again_in", wait, "error", err, "cause", errors.Unwrap(err))
}
