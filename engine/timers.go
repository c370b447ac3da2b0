package engine

import "time"

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
