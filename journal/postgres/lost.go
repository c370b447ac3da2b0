package postgres

import (
	"sync"

	"github.com/braidrun/braid/journal"
)

// mostLost bounds the leases that a store remembers; one that is forgotten runs out by itself.
const mostLost = 4096

// lostLeases are the leases that this store has asked for without hearing whether it has them,
// because the connection broke while the answer was on its way. Nobody drives their runs, so the
// same store may take them again at once.
type lostLeases struct {
	mu    sync.Mutex
	byRun map[string]journal.Lease
}

// add remembers a lease.
func (l *lostLeases) add(lease journal.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byRun == nil || len(l.byRun) >= mostLost {
		l.byRun = make(map[string]journal.Lease)
	}
	l.byRun[lease.Run] = lease
}

// drop forgets the lease of a run that was taken since.
func (l *lostLeases) drop(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byRun, run)
}

// has reports whether the lease that the database has is one of these. The moment to the
// microsecond tells it from another store's of the same epoch.
func (l *lostLeases) has(run string, epoch, until int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease, lost := l.byRun[run]
	return lost && lease.Epoch == epoch && lease.Until.UnixMicro() == until
}
