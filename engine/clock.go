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

// wantSweep makes the next sweep come at once.
func (l *Local) wantSweep() { notify(l.sweepNow) }
