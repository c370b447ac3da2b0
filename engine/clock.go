package engine

import (
	"container/heap"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
)

// delay makes a task wait until a time.
func (l *Local) delay(t *task, until time.Time) {
	t.state, t.dueAt = delayed, until
	heap.Push(&l.timers, t)
	if l.timers[0] == t {
		notify(l.timersChanged)
	}
}

// undelay makes a delayed task idle.
func (l *Local) undelay(t *task) {
	heap.Remove(&l.timers, t.at)
	t.state = idle
}

// runTimers makes delayed tasks ready when they are due. It is one of the engine's goroutines.
func (l *Local) runTimers() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.life.draining:
			return
		case <-l.timersChanged:
		case <-timer.C:
		}
		if wait, some := l.fire(); some {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
	}
}

// fire makes due tasks ready. It returns the time until the next one.
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

// notify wakes a goroutine that waits for the channel, now or the next time it waits.
func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// retryAfter returns the RetryAfter of an error.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
