package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// letGo gives the lease back where no commit has done that, so that the next driver need not wait until it has run out.
// done says that the loop has come to its end. The caller ends an engine's drive that broke off.
func (d *activeRun) letGo(done bool, err error) {
	l := &d.lease
	l.renewer.Close()
	failed := err != nil || !done && d.cfg.callerWaits
	if failed && d.phase != phaseCrashed && !errors.Is(err, event.ErrLeaseLost) && l.renewer.Err() == nil {
		l.release()
	}
	if !d.cfg.callerWaits && l.renewer.OutOfContact() && (err == nil || errors.Is(err, l.renewer.Err())) {
		giveBackLate(l.base, l.conv.Store, *l.held, d.cfg.work)
	}
}

// giveBackLate gives back a lease that ran out while the store could not be reached, when the store is back. This
// driver lives, so the run has not lost it.
func giveBackLate(base context.Context, store journal.Store, lease journal.Lease, work *EngineWork) {
	pause := latePause
	for left := lateTime; left > 0; left -= pause {
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
