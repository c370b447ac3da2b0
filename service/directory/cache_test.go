package directory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Of many who want what nobody has read yet one reads it, and the others wait for that.
func TestOneReadsForAll(t *testing.T) {
	t.Parallel()
	away := &event.Error{Kind: event.ErrUnavailable, Message: "the database is away"}
	for name, c := range map[string]struct {
		// err is what reading comes to; giveUp is when the first one gives up, 0 for never.
		err    error
		giveUp time.Duration
		// changed is when the directory is changed, and somebody asks who comes after that.
		changed time.Duration
		reads   int
		took    time.Duration
	}{
		"it is there":              {nil, 0, 0, 1, time.Second},
		"the database is away":     {away, 0, 0, 1, time.Second},
		"who reads gives up":       {nil, 500 * time.Millisecond, 0, 2, 1500 * time.Millisecond},
		"it was changed meanwhile": {nil, 0, 400 * time.Millisecond, 2, 1400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, err := database.OpenMemory()
				if err != nil {
					t.Fatal(err)
				}
				d := directory.New(directory.Options{Database: db})
				var mu sync.Mutex
				reads := 0
				ask := func(ctx context.Context) error {
					_, err := directory.Lookup(ctx, d, "acme", func(ctx context.Context) (directory.Tenant, error) {
						mu.Lock()
						reads++
						mu.Unlock()
						select {
						case <-time.After(time.Second):
							return directory.Tenant{ID: "acme"}, c.err
						case <-ctx.Done():
							return directory.Tenant{}, ctx.Err()
						}
					})
					return err
				}
				begun := time.Now()
				var all sync.WaitGroup
				first, stop := context.WithCancel(t.Context())
				if c.giveUp > 0 {
					time.AfterFunc(c.giveUp, stop)
				}
				all.Go(func() {
					if err := ask(first); (err != nil) != (c.err != nil || c.giveUp > 0) {
						t.Errorf("the first one was told %v", err)
					}
				})
				synctest.Wait()
				for range 9 {
					all.Go(func() {
						if err := ask(t.Context()); !errors.Is(err, c.err) {
							t.Errorf("another one was told %v", err)
						}
					})
				}
				if c.changed > 0 {
					time.Sleep(c.changed)
					directory.Forget(d)
					all.Go(func() {
						if err := ask(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if took := time.Since(begun); reads != c.reads || took != c.took {
					t.Errorf("it was read %d times in %v, want %d in %v", reads, took, c.reads, c.took)
				}
				stop()
				if err := errors.Join(d.Close(), db.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
