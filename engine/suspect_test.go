package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// leftOver admits runs whose drivers were lost so often, and lets the last lease run out.
func leftOver(t *testing.T, store *journal.Memory, lost int, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := store.Admit(t.Context(), journal.Run{ID: id, Conversation: "of " + id}); err != nil {
			t.Fatal(err)
		}
	}
	for range lost {
		for _, id := range ids {
			if _, err := store.Acquire(t.Context(), id, 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * journal.DefaultTerm)
	}
}

// Of runs that have lost two drivers one is driven at a time, so that the one which ends the process does not take the
// others with it; one that lives for a minute holds nobody up. Others are driven at once.
func TestSuspectsAreDrivenOneByOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lost int
		// takes is how long a drive takes, most how many are driven at once, all how long it takes until all
		// have begun.
		takes time.Duration
		most  int
		all   time.Duration
	}{
		{"new ones", 0, time.Second, 10, time.Second},
		{"lost once", 1, time.Second, 10, time.Second},
		{"lost twice", 2, 10 * time.Second, 1, 5 * time.Minute},
		{"lost twice, and they take long", 2, time.Hour, 10, 12 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := journal.NewMemory(journal.MemoryOptions{})
				var ids []string
				for i := range 10 {
					ids = append(ids, fmt.Sprint("r", i))
				}
				leftOver(t, store, c.lost, ids...)
				var mu sync.Mutex
				now, most, begun, fresh := 0, 0, 0, time.Duration(0)
				at := time.Now()
				local := engine.NewLocal(store, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
					o, err := store.Acquire(ctx, w.Run.ID, 0)
					if err != nil {
						return engine.Outcome{}, err
					}
					mu.Lock()
					if strings.HasPrefix(w.Run.ID, "new") {
						fresh = time.Since(at)
					} else {
						now++
						most, begun = max(most, now), begun+1
					}
					mu.Unlock()
					for range int(c.takes / time.Second) {
						time.Sleep(time.Second)
						if _, err := store.Renew(ctx, o.Lease); err != nil {
							return engine.Outcome{}, err
						}
					}
					mu.Lock()
					defer mu.Unlock()
					now--
					end := event.Event{Header: event.Header{Seq: 1, Conversation: w.Run.Conversation, Run: w.Run.ID}, Body: &event.RunEnded{Status: event.RunCompleted}}
					return engine.Outcome{Status: event.RunCompleted},
						store.Commit(ctx, o.Lease, journal.Batch{Events: []*event.Event{&end}, Status: event.RunCompleted})
				}, engine.Options{Grace: -1})
				if err := local.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := local.Submit(t.Context(), journal.Run{ID: "new", Conversation: "new"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.all)
				synctest.Wait()
				mu.Lock()
				if most != c.most || begun != 10 || fresh > time.Second {
					t.Errorf("at most %d at once, %d have begun, the new one after %v", most, begun, fresh)
				}
				mu.Unlock()
				time.Sleep(2 * time.Hour)
				if err := local.Drain(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A run that waits for its turn can say so, and so can one that could not be driven.
func TestARunSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	full := &event.Error{Kind: event.ErrStorageFull, Message: "no space"}
	at(t, engine.Options{Running: 1}, func(s *site) {
		release := make(chan struct{})
		s.will("a", func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
			<-release
			return s.finish(ctx, w)
		})
		s.will("b", func(context.Context, engine.Work) (engine.Outcome, error) { return engine.Outcome{}, full })
		if err := s.local.Start(t.Context()); err != nil {
			s.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			if _, err := s.local.Submit(t.Context(), journal.Run{ID: id, Conversation: "of " + id}); err != nil {
				s.Fatal(err)
			}
		}
		synctest.Wait()
		for id, want := range map[string]event.ErrorKind{"a": "", "b": event.ErrBacklogFull, "c": event.ErrBacklogFull, "nobody": ""} {
			if got := event.KindOf(s.local.Waits(id)); got != want {
				s.Errorf("%s waits for %q, want %q", id, got, want)
			}
		}
		if running, queued := s.local.Load(); running != 1 || queued != 2 {
			s.Errorf("%d run and %d are queued", running, queued)
		}
		close(release)
		synctest.Wait()
		if got := event.KindOf(s.local.Waits("b")); got != event.ErrStorageFull {
			s.Errorf("b waits for %q", got)
		}
		s.will("b", nil)
		time.Sleep(5 * time.Second)
		if running, queued := s.local.Load(); running != 0 || queued != 0 || s.local.Waits("b") != nil {
			s.Errorf("%d run and %d are queued", running, queued)
		}
	})
}

// A run that met a full disk goes on within a second or two of there being space again, however long it was full.
func TestAFullDiskIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	full := &event.Error{Kind: event.ErrStorageFull, Message: "no space"}
	at(t, engine.Options{}, func(s *site) {
		space := time.Now().Add(45*time.Second + 300*time.Millisecond)
		went := make(chan time.Duration, 4)
		for _, id := range []string{"a", "b", "c", "d"} {
			s.will(id, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
				if time.Now().Before(space) {
					return engine.Outcome{}, full
				}
				went <- time.Since(space)
				return s.finish(ctx, w)
			})
			if _, err := s.local.Submit(t.Context(), journal.Run{ID: id, Conversation: "of " + id}); err != nil {
				s.Fatal(err)
			}
		}
		if err := s.local.Start(t.Context()); err != nil {
			s.Fatal(err)
		}
		for range 4 {
			if after := <-went; after > 2*time.Second {
				s.Errorf("it went on %v after there was space", after)
			}
		}
	})
}
