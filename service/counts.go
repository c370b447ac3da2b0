package service

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

// Counts are what a service has counted since it began, for metrics.
type Counts struct {
	// LeasesLost counts the drives of runs that ended because another process had taken the run over.
	LeasesLost int64
	// LockWaits counts the requests that waited for their conversation's open run, and LockWaited adds up how long.
	LockWaits  int64
	LockWaited time.Duration
}

type counts struct{ leasesLost, lockWaits, lockWaited atomic.Int64 }

// Counts gives what was counted so far.
func (s *Service) Counts() Counts {
	return Counts{
		LeasesLost: s.counts.leasesLost.Load(), LockWaits: s.counts.lockWaits.Load(), LockWaited: time.Duration(s.counts.lockWaited.Load()),
	}
}

// drove takes note of how a drive ended.
func (c *counts) drove(err error) {
	if errors.Is(err, event.ErrLeaseLost) {
		c.leasesLost.Add(1)
	}
}

// waited takes note of a request that has waited for its conversation.
func (c *counts) waited(since time.Time) {
	c.lockWaits.Add(1)
	c.lockWaited.Add(int64(time.Since(since)))
}
