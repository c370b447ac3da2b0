// Package lowspace tracks whether a database has space for writes.
package lowspace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Every is the minimum time between two test writes to a full database.
const Every = time.Second

// Bytes is the size of a test write. A smaller write may fit on a page that is already allocated.
const Bytes = 256 << 10

// Watch tracks whether a database has space. The zero value is ready. It is safe for concurrent
// use.
type Watch struct {
	// failed counts the writes that found no space.
	failed atomic.Int64

	mu sync.Mutex
	// known is the value of failed at the last test write that succeeded.
	known int64
	at    time.Time
	err   error
}

// Failed records that a write found no space.
func (w *Watch) Failed() { w.failed.Add(1) }

// Check returns nil if no write has failed since the last test write that succeeded. Otherwise it
// calls write, at most once per [Every], and returns its last error.
func (w *Watch) Check(ctx context.Context, write func(context.Context) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	failed := w.failed.Load()
	if failed == w.known {
		return nil
	}
	if w.err != nil && time.Since(w.at) < Every {
		return w.err
	}
	w.err = write(ctx)
	w.at = time.Now()
	if w.err == nil {
		w.known = failed
	}
	return w.err
}
