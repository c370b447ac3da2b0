// Package lowspace remembers that a database had no space for a write, until it has space again.
package lowspace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Every is how often a database without space is written to at most, to find out whether it has some again.
const Every = time.Second

// Bytes is how much such a write should hold. A small one may find room on a page that is there, where no other has any.
const Bytes = 256 << 10

// Watch knows whether a database has space. Its zero value is ready, and is safe for concurrent use.
type Watch struct {
	// failed counts the writes that found no space.
	failed atomic.Int64

	mu sync.Mutex
	// known are those of failed before the last write that found some.
	known int64
	at    time.Time
	err   error
}

// Failed notes that a write found no space.
func (w *Watch) Failed() { w.failed.Add(1) }

// Check returns nil if no write has failed, or if space was found since. Otherwise it calls write, at most once in [Every], and
// returns its last error.
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
