package service

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// lockLook is how long admitAlone waits for an event of the bus before it tries again.
const lockLook = 2 * time.Second

// runEnds tells a waiting request when to try again. A try costs the journal more than all of the
// waiting.
type runEnds struct {
	watcher live.Watcher
	// after is the Seq of an event from before the last try. A run that ended since has a later
	// one.
	after int64
	// moved is set if other processes drive runs too. It reports whether anything was committed
	// since its last call.
	moved func() bool
}

// wait returns when a run may have ended: the bus said so, or time has passed.
func (r *runEnds) wait(ctx context.Context) error {
	for {
		pause := lockLook
		if r.moved != nil {
			pause = sharedPoll
		}
		ended, err := r.within(ctx, pause)
		if ended || err != nil || r.moved == nil || r.moved() {
			return err
		}
	}
}

// within reports whether the bus published the end of a run within pause.
func (r *runEnds) within(ctx context.Context, pause time.Duration) (bool, error) {
	soon, stop := context.WithTimeout(ctx, pause)
	defer stop()
	var items [32]live.Item
	for {
		n, err := r.watcher.Read(soon, items[:])
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, event.ErrTimeout) {
				return false, nil
			}
			return false, err
		}
		for _, item := range items[:n] {
			if item.Event == nil {
				if r.missed(item.Sync.Last) {
					return true, nil
				}
				continue
			}
			if _, ok := item.Event.Body.(*event.RunEnded); ok {
				return true, nil
			}
		}
	}
}

// missed reports whether a run may have ended without an event on the bus. last is the Seq of the
// last event that the bus knows. last == 0 means that no driver is in this process: the run may
// have ended before we subscribed, and across processes moved tells.
func (r *runEnds) missed(last int64) bool {
	if last == 0 {
		return r.moved == nil
	}
	further := last > r.after
	r.after = max(r.after, last)
	return further
}
