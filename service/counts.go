package service

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

// Counts are a service's counters since it started, for metrics.
type Counts struct {
	// LeasesLost counts the drives that ended because another process took over the run.
	LeasesLost int64
	// LockWaits counts the requests that waited for their conversation's open run.
	LockWaits int64
	// LockWaited is the sum of the times that they waited.
	LockWaited time.Duration
}

type counts struct{ leasesLost, lockWaits, lockWaited atomic.Int64 }

// drove counts the end of a drive.
func (c *counts) drove(err error) {
	if errors.Is(err, event.ErrLeaseLost) {
		c.leasesLost.Add(1)
	}
}

// waited counts a request that waited for its conversation.
func (c *counts) waited(since time.Time) {
	c.lockWaits.Add(1)
	c.lockWaited.Add(int64(time.Since(since)))
}
