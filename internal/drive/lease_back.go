package drive

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// letGo gives the lease back where no commit has done that, so that the next driver need not wait until it has run out.
// done says that the loop has come to its end. The caller ends an engine's drive that broke off.
func (d *activeRun) letGo(done bool, err error) {
	l := &d.lease
	if !d.cfg.callerWaits && errors.Is(err, event.ErrStorageFull) {
		// The lease is renewed meanwhile: if it ran out, the next driver would count this one as dead.
		giveBackLate(l.base, l.conv.Store, *l.held, d.cfg.work, math.MaxInt64)
		l.renewer.Close()
		return
	}
	l.renewer.Close()
	failed := err != nil || !done && d.cfg.callerWaits
	if failed && d.phase != phaseCrashed && !errors.Is(err, event.ErrLeaseLost) && l.renewer.Err() == nil {
		l.release()
	}
	if !d.cfg.callerWaits && l.renewer.OutOfContact() && (err == nil || errors.Is(err, l.renewer.Err())) {
		giveBackLate(l.base, l.conv.Store, *l.held, d.cfg.work, lateTime)
	}
}

// giveBackLate gives back a lease when the store takes it: one that ran out while the store could not be reached, or one
// that the store had no space to take back. This driver lives, so the run has not lost it. left is how long it tries.
func giveBackLate(base context.Context, store journal.Store, lease journal.Lease, work *EngineWork, left time.Duration) {
	pause := latePause
	for ; left > 0; left -= pause {
		err := store.Commit(base, lease, journal.Batch{Release: true})
		if !errors.Is(err, event.ErrUnavailable) && !errors.Is(err, event.ErrStorageFull) {
			return
		}
		work.stalled(err)
		select {
		case <-time.After(pause):
		case <-work.Draining:
			return
		}
		pause = min(2*pause, lateMost)
	}
}

// How long a driver goes on giving back a lease that ran out while the store could not be reached, and how long it
// waits between two attempts.
const (
	lateTime  = 5 * time.Minute
	latePause = 100 * time.Millisecond
	lateMost  = time.Second
)
