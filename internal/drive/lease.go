package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/journal"
)

// runLease is the lease under which a drive writes, and the store that has given it.
type runLease struct {
	conv *Handle
	held *journal.Lease
	// renewer is nil where nobody else can take the lease.
	renewer *lease.Renewer
	// base outlives the run's context, for the commits that record its end.
	base context.Context //nolint:containedctx // a drive lives for one call
}

// commit writes a batch. A store that cannot be reached may have written it all the same, so commit repeats the same
// batch until the lease may have run out. It calls stalled with the error when it begins to wait, and with nil when the
// store writes again.
func (l *runLease) commit(b journal.Batch, stalled func(error)) error {
	waits := false
	return l.retry(func() error {
		err := l.conv.commit(l.base, *l.held, b)
		switch {
		case waits && err == nil:
			stalled(nil)
		case !waits && l.again(err, firstPause):
			waits = true
			stalled(err)
		}
		return err
	})
}

// firstPause is how long a driver waits before it asks a store again that could not be reached. Each pause is twice as
// long as the one before, up to a second.
const firstPause = 10 * time.Millisecond

// retry calls f again and again while the store cannot be reached, until the lease may have run out.
func (l *runLease) retry(f func() error) error {
	for wait := firstPause; ; wait = min(2*wait, time.Second) {
		if err := l.renewer.Err(); err != nil {
			return err
		}
		err := f()
		if !l.again(err, wait) {
			return err
		}
		<-time.After(wait)
	}
}

// again reports whether the store is to be asked again after a pause.
func (l *runLease) again(err error, wait time.Duration) bool {
	return errors.Is(err, event.ErrUnavailable) && wait <= l.renewer.Left()
}

// release gives the lease back without writing anything, so that the next driver need not wait until it has run out.
func (l *runLease) release() {
	_ = l.conv.Store.Commit(l.base, *l.held, journal.Batch{Release: true})
}
