package engine

import (
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// suspectTime is how long a suspect is driven alone. If the process is still alive then, the
	// run is probably not the cause.
	suspectTime = time.Minute
	// suspectPause is how long the other suspects wait before they are looked at again.
	suspectPause = time.Second
)

// isSuspect reports whether a run may be what kills its processes: it has lost its last two
// drivers. The next loss may end it (braid.Limits.LostDrivers).
func (t *task) isSuspect() bool {
	return t.run.Status == event.RunRunning && t.run.Lost > 0 && !t.urgent
}

// putOff delays a suspect while another one is driven. All runs of a dead process have lost their
// driver, and one of them is the cause. Driven one by one, the others do not die with it.
func (l *Local) putOff(t *task) bool {
	if !t.isSuspect() {
		return false
	}
	now := time.Now()
	if l.suspect == nil || now.Sub(l.suspected) >= suspectTime {
		l.suspect, l.suspected = t, now
		l.options.Log.Warn("a run has lost its drivers without getting on",
			"tenant", t.run.Tenant, "conversation", t.run.Conversation, "run", t.run.ID, "lost", t.run.Lost+1)
		return false
	}
	l.queue.done(t)
	l.delay(t, now.Add(suspectPause))
	return true
}
