package postgres

import (
	"sync"

	"github.com/braidrun/braid/journal"
)

// mostLost is the maximum number of remembered leases. A forgotten lease expires by itself.
const mostLost = 4096

// lostLeases are leases that this store has requested without learning the outcome, because the
// connection broke. Nobody drives their runs, so the same store may acquire them again at once.
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

// drop forgets the lease of a run that was acquired since.
func (l *lostLeases) drop(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byRun, run)
}

// has reports whether the database's lease is one of these. Its end, in microseconds,
// distinguishes it from another store's lease of the same epoch.
func (l *lostLeases) has(run string, epoch, until int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease, lost := l.byRun[run]
	return lost && lease.Epoch == epoch && lease.Until.UnixMicro() == until
}
