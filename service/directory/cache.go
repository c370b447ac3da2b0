package directory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// Stale is how old what comes from memory may be, where other processes write the same
// database.
const Stale = time.Second

// mostCached bounds each cache.
const mostCached = 10_000

// cache remembers what was read, also that there was nothing, until something is changed.
// The zero value is ready for use.
type cache[K comparable, V any] struct {
	mu sync.RWMutex
	// of is the generation that everything here was read in or after.
	of   int64
	kept map[K]cached[V]
	// reading is what is being read.
	reading map[K]*reading[V]
}

type cached[V any] struct {
	value V
	err   error
}

// reading is one request's question to the database, for whose answer others wait.
type reading[V any] struct {
	generation int64
	// done is closed when got is there. given says that it is an answer for others, too.
	done  chan struct{}
	got   cached[V]
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

// put keeps what was read after the generation had been looked at.
func (c *cache[K, V]) put(generation int64, k K, v cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation < c.of {
		return // somebody has changed something since
	}
	if generation > c.of || c.kept == nil || len(c.kept) >= mostCached {
		c.of, c.kept = generation, make(map[K]cached[V])
	}
	c.kept[k] = v
}

// begin joins somebody who has begun to read since the generation was looked at, or has the caller read
// for all who join him.
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

// end tells those who have joined.
func (c *cache[K, V]) end(k K, r *reading[V]) {
	c.mu.Lock()
	if c.reading[k] == r {
		delete(c.reading, k)
	}
	c.mu.Unlock()
	close(r.done)
}

// lookup asks the cache, and load where it does not know. Of many who want one thing one asks.
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

// read asks the database, for the caller and for those who have joined him. That he himself gave up is no
// answer for them.
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

// isAnswer reports whether an error says what stands in the database, and not that it could not
// be asked.
func isAnswer(err error) bool {
	return errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrModelNotFound) || errors.Is(err, event.ErrUnauthenticated)
}

// changes counts what was changed in the directory. Whoever has looked at the count before he
// read knows by it whether that still stands.
type changes struct {
	// ask reads the count of a database that others write too; nil where nobody else does.
	ask func(ctx context.Context) (int64, error)

	mu    sync.Mutex
	known int64
	asked time.Time
	// doubts counts the writes that failed.
	doubts int
	// asking is closed when whoever asks now has the answer; nil while nobody does.
	asking chan struct{}
}

// generation is the count, as it was at most [Stale] ago. It is asked for when half of that is over. Of many
// who want it one asks, and the others go on with what is known for as long as they may: a database that is busy
// has one request wait then, and not all of them.
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

// renew has the count asked for now: what somebody has read is newer than what is known.
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

// moved takes note of a change that was made here. n is the count after it; 0 where it is not
// kept in the database.
func (c *changes) moved(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n == 0 {
		n = c.known + 1
	}
	c.known = max(c.known, n)
}

// doubt takes note of a write that failed, which may have been done all the same. Where others write the database
// too, the count is asked for anew and never guessed: one ahead of the database's would hide all changes until the
// database has caught up.
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
