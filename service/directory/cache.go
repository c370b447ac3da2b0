package directory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// Stale is how old cached data may be if other processes write the same database.
const Stale = time.Second

// mostCached bounds each cache.
const mostCached = 10_000

// cache caches read values, and that there is none, until something changes. The zero value is
// ready for use.
type cache[K comparable, V any] struct {
	mu sync.RWMutex
	// of is the generation in or after which everything here was read.
	of   int64
	kept map[K]cached[V]
	// reading holds the reads in progress.
	reading map[K]*reading[V]
}

type cached[V any] struct {
	value V
	err   error
}

// reading is one request's read of the database. Others wait for its result.
type reading[V any] struct {
	generation int64
	// done is closed once got is set.
	done chan struct{}
	got  cached[V]
	// given reports that got is a result for the others too.
	given bool
}

func (c *cache[K, V]) get(generation int64, k K) (cached[V], bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.of != generation {
		return cached[V]{}, false
	}
	v, ok := c.kept[k]
	return v, ok
}

// put caches a value that was read after the generation was checked.
func (c *cache[K, V]) put(generation int64, k K, v cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation < c.of {
		return // something has changed since
	}
	if generation > c.of || c.kept == nil || len(c.kept) >= mostCached {
		c.of, c.kept = generation, make(map[K]cached[V])
	}
	c.kept[k] = v
}

// begin joins a read that began since the generation was checked, or starts a new one for the
// caller and all who join. mine reports a new one.
func (c *cache[K, V]) begin(generation int64, k K) (r *reading[V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r = c.reading[k]; r != nil && r.generation >= generation {
		return r, false
	}
	r = &reading[V]{generation: generation, done: make(chan struct{})}
	if c.reading == nil {
		c.reading = make(map[K]*reading[V])
	}
	c.reading[k] = r
	return r, true
}

// end ends a read and wakes those who joined.
func (c *cache[K, V]) end(k K, r *reading[V]) {
	c.mu.Lock()
	if c.reading[k] == r {
		delete(c.reading, k)
	}
	c.mu.Unlock()
	close(r.done)
}

// lookup returns a cached value, or the result of load. Concurrent requests for one key share one
// load.
func lookup[K comparable, V any](ctx context.Context, d *Directory, c *cache[K, V], k K, load func(ctx context.Context) (V, error)) (V, error) {
	for {
		generation, err := d.changes.generation(ctx)
		if err != nil {
			var none V
			return none, err
		}
		if v, ok := c.get(generation, k); ok {
			return v.value, v.err
		}
		r, mine := c.begin(generation, k)
		if mine {
			return c.read(ctx, k, r, load)
		}
		select {
		case <-r.done:
			if r.given {
				return r.got.value, r.got.err
			}
		case <-ctx.Done():
			var none V
			return none, gaveUp(ctx)
		}
	}
}

// read reads the database for the caller and for those who joined. If the caller gave up, the
// others do not get its error.
func (c *cache[K, V]) read(ctx context.Context, k K, r *reading[V], load func(ctx context.Context) (V, error)) (V, error) {
	defer c.end(k, r)
	value, err := load(ctx)
	r.got, r.given = cached[V]{value, err}, err == nil || ctx.Err() == nil
	if err == nil || isAnswer(err) {
		c.put(r.generation, k, r.got)
	}
	return value, err
}

func gaveUp(ctx context.Context) error {
	return &event.Error{Op: "directory", Kind: event.ErrCancelled, Message: "the request was given up", Err: context.Cause(ctx)}
}

// isAnswer reports whether an error says what is in the database, and not that the database failed.
func isAnswer(err error) bool {
	return errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrModelNotFound) || errors.Is(err, event.ErrUnauthenticated)
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
