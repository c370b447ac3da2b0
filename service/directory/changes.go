package directory

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// Stale is how old cached data may be if other processes write the same database.
const Stale = time.Second

func gaveUp(ctx context.Context) error {
	return &event.Error{Op: "directory", Kind: event.ErrCancelled, Message: "the request was given up", Err: context.Cause(ctx)}
}

// changes counts the changes of the directory. A reader that checked the count first knows by it
// whether its data is still valid.
type changes struct {
	// ask reads the count of a database that others write too. It is nil if nobody else does.
	ask func(ctx context.Context) (int64, error)

	mu    sync.Mutex
	known int64
	asked time.Time
	// doubts counts the failed writes.
	doubts int
	// asking is closed when the current query has a result. It is nil if there is no query.
	asking chan struct{}
}

// generation returns the count, at most [Stale] old. It queries the database again after half of
// that. Of concurrent callers one queries and the others use the old count for as long as they may:
// a slow database then delays one request and not all.
func (c *changes) generation(ctx context.Context) (int64, error) {
	for waited := false; ; waited = true {
		c.mu.Lock()
		age := time.Since(c.asked)
		if c.ask == nil || age < Stale/2 || age < Stale && (waited || c.asking != nil) {
			defer c.mu.Unlock()
			return c.known, nil
		}
		if asking := c.asking; asking != nil {
			c.mu.Unlock()
			select {
			case <-asking:
				continue
			case <-ctx.Done():
				return 0, gaveUp(ctx)
			}
		}
		c.asking = make(chan struct{})
		doubts := c.doubts
		c.mu.Unlock()
		begin := time.Now()
		n, err := c.ask(ctx)
		c.mu.Lock()
		close(c.asking)
		c.asking = nil
		if err == nil {
			c.known = max(c.known, n)
		}
		if err == nil && doubts == c.doubts {
			c.asked = begin
		}
		n = c.known
		c.mu.Unlock()
		return n, err
	}
}

// renew queries the count now, because something newer than the known count was read.
func (c *changes) renew(ctx context.Context) error {
	if c.ask == nil {
		return nil
	}
	n, err := c.ask(ctx)
	if err == nil {
		c.moved(n)
	}
	return err
}

// moved records a change that was made here. n is the new count, or 0 if the database does not
// store it.
func (c *changes) moved(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n == 0 {
		n = c.known + 1
	}
	c.known = max(c.known, n)
}

// doubt records a failed write, which may have been committed all the same. If others write the
// database too, the count is queried again and never guessed: a count ahead of the database's would
// hide all changes until the database has caught up.
func (c *changes) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ask == nil {
		c.known++
		return
	}
	c.doubts++
	c.asked = time.Time{}
}
