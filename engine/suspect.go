package engine

import (
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// suspectTime is how long a suspect is driven alone. One that has not ended the process by then is likely
	// none of those that do.
	suspectTime = time.Minute
	// suspectPause is how long the other suspects wait until they are looked at again.
	suspectPause = time.Second
)

// isSuspect reports whether a run may be what ends processes: its last driver was lost, and one before that. The
// next loss may be the one that ends it (braid.Limits.LostDrivers).
func (t *task) isSuspect() bool {
	return t.run.Status == event.RunRunning && t.run.Lost > 0 && !t.urgent
}

// putOff lets a suspect wait while another one is driven. When a process dies, all runs that it was driving have
// lost their driver, and one of them is to blame: driven one by one, the others do not share its end.
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
