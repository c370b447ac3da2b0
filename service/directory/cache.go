package directory

import (
	"context"
	"errors"
	"sync"

	"github.com/braidrun/braid/event"
)

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
func lookup[K comparable, V any](ctx context.Context, in *changes, c *cache[K, V], k K, load func(ctx context.Context) (V, error)) (V, error) {
	for {
		generation, err := in.generation(ctx)
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

// isAnswer reports whether an error says what is in the database, and not that the database failed.
func isAnswer(err error) bool {
	return errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrModelNotFound) || errors.Is(err, event.ErrUnauthenticated)
}

func (c *cache[K, V]) drop() {
	c.mu.Lock()
	c.kept = nil
	c.mu.Unlock()
}
