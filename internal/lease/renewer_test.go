package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// fakeStore answers renewals alone.
type fakeStore struct {
	journal.Store

	renewals int
	renew    func(ctx context.Context, n int) (journal.News, error)
}

func (s *fakeStore) Renew(ctx context.Context, _ journal.Lease) (journal.News, error) {
	s.renewals++
	return s.renew(ctx, s.renewals)
}

var errAway = &event.Error{Kind: event.ErrUnavailable, Message: "the store is away"}

func TestRenewer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		renew func(ctx context.Context, n int) (journal.News, error)
		// What is known 25 s after the lease began.
		stopped, lost, outOfContact, mail bool
		stopsAfter                        time.Duration
	}{
		"a lease that is renewed": {
			renew: func(context.Context, int) (journal.News, error) { return journal.News{}, nil },
		},
		"a short absence": {
			renew: func(_ context.Context, n int) (journal.News, error) {
				if n%5 != 0 {
					return journal.News{}, errAway
				}
				return journal.News{}, nil
			},
		},
		"a store that stays away": {
			renew:   func(context.Context, int) (journal.News, error) { return journal.News{}, errAway },
			stopped: true, lost: true, outOfContact: true, stopsAfter: 10 * time.Second,
		},
		"a store that gives no answer": {
			renew: func(ctx context.Context, _ int) (journal.News, error) {
				<-ctx.Done()
				return journal.News{}, ctx.Err()
			},
			stopped: true, lost: true, outOfContact: true, stopsAfter: 10 * time.Second,
		},
		"another driver": {
			renew: func(_ context.Context, n int) (journal.News, error) {
				if n > 1 {
					return journal.News{}, &event.Error{Kind: event.ErrLeaseLost, Message: "another driver has it"}
				}
				return journal.News{}, nil
			},
			stopped: true, lost: true, stopsAfter: 6 * time.Second,
		},
		"a cancelled run": {
			renew:   func(context.Context, int) (journal.News, error) { return journal.News{Cancelled: true}, nil },
			stopped: true, stopsAfter: 3 * time.Second,
		},
		"mail": {
			renew: func(context.Context, int) (journal.News, error) {
				return journal.News{Mail: []journal.Mail{{ID: "m"}}}, nil
			},
			mail: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r := Renew(t.Context(), &fakeStore{renew: c.renew}, journal.Lease{Term: 10 * time.Second}, stop)
				began := time.Now()
				stopsAfter := time.Duration(0)
				defer context.AfterFunc(ctx, func() { stopsAfter = time.Since(began) })()
				time.Sleep(25 * time.Second)
				synctest.Wait()

				if stopped := ctx.Err() != nil; stopped != c.stopped || stopsAfter != c.stopsAfter {
					t.Errorf("stopped: %v after %v", stopped, stopsAfter)
				}
				if err := r.Err(); (err != nil) != c.lost || c.lost && !errors.Is(err, event.ErrLeaseLost) {
					t.Errorf("the lease is lost with %v", err)
				}
				if r.OutOfContact() != c.outOfContact {
					t.Errorf("out of contact: %v", r.OutOfContact())
				}
				if (r.Left() > 0) == c.lost {
					t.Errorf("%v are left", r.Left())
				}
				select {
				case <-r.Notified():
					if !c.mail || len(r.TakeMail()) != 1 || r.TakeMail() != nil {
						t.Error("the mail is another")
					}
				default:
					if c.mail {
						t.Error("there is no mail")
					}
				}
				r.Close()
			})
		})
	}
}

func TestClosedRenewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{renew: func(ctx context.Context, _ int) (journal.News, error) {
			<-ctx.Done()
			return journal.News{}, ctx.Err()
		}}
		r := Renew(t.Context(), store, journal.Lease{Term: 3 * time.Second}, func() { t.Error("the run was stopped") })
		time.Sleep(1500 * time.Millisecond) // its first renewal is under way
		r.Close()
		time.Sleep(time.Minute)
		if store.renewals != 1 || r.Err() != nil {
			t.Errorf("%d renewals, and %v", store.renewals, r.Err())
		}
	})
}

func TestLoseStopsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stops := 0
		store := &fakeStore{renew: func(context.Context, int) (journal.News, error) { return journal.News{}, nil }}
		r := Renew(t.Context(), store, journal.Lease{Term: 9 * time.Second}, func() { stops++ })
		lost := &event.Error{Kind: event.ErrLeaseLost, Message: "another driver has it"}
		r.Lose(lost)
		time.Sleep(time.Minute)
		if !errors.Is(r.Err(), lost) || r.OutOfContact() || stops != 1 || store.renewals != 0 {
			t.Errorf("%v, out of contact: %v, %d stops, %d renewals", r.Err(), r.OutOfContact(), stops, store.renewals)
		}
		r.Close()
	})
}

func TestNoRenewer(t *testing.T) {
	t.Parallel()
	var r *Renewer
	r.Close()
	if r.Err() != nil || r.OutOfContact() || r.Notified() != nil || r.Left() < time.Minute {
		t.Error("a lease that nobody can lose is lost")
	}
}
