package braid_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// sleeper is an agent whose one tool takes d, or ends with its context.
func sleeper(d time.Duration) *braid.Agent {
	return braid.New("a", answers(asksFor("sleep", `{}`), says("awake")),
		braid.Func("sleep", "Sleeps.", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(d):
				return "slept", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, braid.Pure()))
}

func TestALongRunKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		var wg sync.WaitGroup
		wg.Go(func() {
			result, err := sleeper(5*time.Minute).Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
			if err != nil || result.Text() != "awake" {
				t.Errorf("got %v, %q", err, result.Text())
			}
		})
		for range 10 {
			time.Sleep(29 * time.Second)
			if _, err := sleeper(0).Resume(t.Context(), braid.Open(store, "c")); !errors.Is(err, event.ErrLocked) {
				t.Errorf("another driver got %v", err)
			}
		}
		wg.Wait()
	})
}

func TestCancellingFromElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		begun := time.Now()
		time.AfterFunc(time.Minute, func() {
			if err := braid.Open(store, "c").Cancel(t.Context()); err != nil {
				t.Error(err)
			}
		})
		_, err := sleeper(time.Hour).Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
		if took := time.Since(begun); !errors.Is(err, event.ErrCancelled) || took > 70*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// failingStore fails renewals as it is told; where it is not told how, it does not
// answer.
type failingStore struct {
	journal.Store
	renew error
	until time.Time
}

func (s *failingStore) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if time.Now().Before(s.until) {
		if errors.Is(s.renew, event.ErrInternal) {
			<-ctx.Done()
		}
		return journal.News{}, s.renew
	}
	return s.Store.Renew(ctx, l)
}

func TestRenewalsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		down  time.Duration
		want  error
		after time.Duration
	}{
		{"for a while", event.ErrUnavailable, 25 * time.Second, nil, 5 * time.Minute},
		{"until the lease could run out", event.ErrUnavailable, time.Hour, event.ErrLeaseLost, 30 * time.Second},
		{"without an answer", event.ErrorKind(""), time.Hour, event.ErrLeaseLost, 30 * time.Second},
		{"because another has it", event.ErrLeaseLost, time.Hour, event.ErrLeaseLost, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{Store: &journal.Memory{}, renew: &event.Error{Kind: c.err.(event.ErrorKind)}, until: time.Now().Add(c.down)}
				begun := time.Now()
				_, err := sleeper(5*time.Minute).Run(t.Context(), "sleep", braid.In(braid.Open(store, "c")))
				if took := time.Since(begun).Round(time.Second); !errors.Is(err, c.want) || took != c.after {
					t.Errorf("got %v after %v, want %v after %v", err, took, c.want, c.after)
				}
				if c.want == nil {
					return
				}
				// The run is not lost: another driver takes it over.
				time.Sleep(time.Minute)
				result, err := sleeper(time.Second).Resume(t.Context(), braid.Open(store.Store, "c"))
				if err != nil || result.Text() != "awake" {
					t.Errorf("taken over: %v, %q", err, result.Text())
				}
			})
		})
	}
}
