package engine

import (
	"container/heap"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
)

// delay has a task wait until a time.
func (l *Local) delay(t *task, until time.Time) {
	t.state, t.dueAt = delayed, until
	heap.Push(&l.timers, t)
	if l.timers[0] == t {
		ring(l.alarm)
	}
}

// undelay makes a delayed task idle.
func (l *Local) undelay(t *task) {
	heap.Remove(&l.timers, t.at)
	t.state = idle
}

// keepTime makes delayed tasks ready when their time has come. It is one of the
// engine's two goroutines.
func (l *Local) keepTime() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.draining:
			return
		case <-l.alarm:
		case <-timer.C:
		}
		if wait, some := l.fire(); some {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
	}
}

// fire makes ready what is due, and tells how long it is until the next one.
func (l *Local) fire() (wait time.Duration, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.timers) > 0 && l.phase == started {
		t := l.timers[0]
		if wait := time.Until(t.dueAt); wait > 0 {
			return wait, true
		}
		l.undelay(t)
		l.enqueue(t)
		l.dispatch()
	}
	return 0, false
}

// ring wakes a goroutine, now or the next time it waits.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// retryAfter is how long an error asks to wait.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
