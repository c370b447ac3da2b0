//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// crowd is a number of clients at one address. Each has its own conversation, which a second client watches.
type crowd struct {
	t    *testing.T
	url  string
	stop atomic.Bool
	work sync.WaitGroup

	mu    sync.Mutex
	talks []*talk
}

// talk is a conversation as its two clients saw it.
type talk struct {
	id string
	// turns are the user's messages and their results.
	turns []turn
	// watched counts the ends that the second client saw, by run.
	watched map[string]int
}

type turn struct {
	mark, kind string
	run        string
	ends       int
	status     event.RunStatus
	err        error
	took       time.Duration
}

// kinds are the requests of the clients, in turn.
var kinds = []string{"hello", "pay", "pay twice", "look"}

// newCrowd starts n clients, which run until they are stopped.
func newCrowd(t *testing.T, url string, n int) *crowd {
	t.Helper()
	c := &crowd{t: t, url: url}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for i := range n {
		c.work.Go(func() { c.person(ctx, i) })
	}
	return c
}

// person runs one client.
func (c *crowd) person(ctx context.Context, number int) {
	api := clientOf(c.t, c.url)
	k := &talk{watched: map[string]int{}}
	for k.id == "" {
		conv, err := api.Create(ctx, client.NewConversation{})
		switch {
		case err == nil:
			k.id = conv.ID
		case ctx.Err() != nil || !passing(err):
			c.t.Errorf("no conversation could be begun: %v", err)
			return
		default:
			time.Sleep(100 * time.Millisecond)
		}
	}
	c.mu.Lock()
	c.talks = append(c.talks, k)
	c.mu.Unlock()
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	var mu sync.Mutex
	watcher.Go(func() {
		for f, err := range clientOf(c.t, c.url).Follow(watching, k.id, "", client.FollowOptions{}) {
			if err != nil && watching.Err() == nil {
				c.t.Errorf("%s: its watcher was told %v", k.id, err)
			}
			if r, ok := f.(*native.Result); ok {
				mu.Lock()
				k.watched[r.RunID]++
				mu.Unlock()
			}
		}
	})
	for i := 0; !c.stop.Load() && ctx.Err() == nil; i++ {
		one := turn{kind: kinds[(number+i)%len(kinds)], mark: fmt.Sprintf("m%dx%d", number, i)}
		begun := time.Now()
		for tries := 0; tries == 0 || passing(one.err) && ctx.Err() == nil && time.Since(begun) < 2*time.Minute; tries++ {
			if tries > 0 {
				time.Sleep(200 * time.Millisecond)
			}
			// The key makes it one message, however often it is sent.
			for f, err := range api.Stream(ctx, k.id, one.kind+" "+one.mark, client.RunOptions{Key: one.mark}) {
				one.err = err
				if r, ok := f.(*native.Result); ok {
					one.ends++
					one.run, one.status = r.RunID, r.Status
				}
			}
		}
		one.took = time.Since(begun)
		k.turns = append(k.turns, one)
		if one.err != nil {
			c.t.Errorf("%s: %s %s came out as %v", k.id, one.kind, one.mark, one.err)
			break
		}
	}
	// The watcher sees the last end a little later.
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		seen := len(k.turns) == 0 || k.watched[k.turns[len(k.turns)-1].run] > 0
		mu.Unlock()
		if seen {
			break
		}
	}
	stop()
	watcher.Wait()
}

// passing reports whether an error is temporary.
func passing(err error) bool {
	for _, kind := range []event.ErrorKind{event.ErrUnavailable, event.ErrTimeout, event.ErrLocked, event.ErrOverloaded, event.ErrBacklogFull, event.ErrStorageFull} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// end lets all clients finish their current runs.
func (c *crowd) end() {
	c.stop.Store(true)
	c.work.Wait()
}
