// Package lease renews the lease of a run for as long as a driver works on it.
package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Renewer renews a driver's lease beside it, whatever its tools are doing. It stops the run when the lease is lost
// or could have run out, and when somebody has asked to cancel the run. It costs two timers while nothing has to be
// renewed. A nil renewer has a lease that nobody can lose.
type Renewer struct {
	store journal.Store
	lease journal.Lease
	// stop cancels the run's steps.
	stop context.CancelFunc
	// ctx ends with the renewer.
	ctx context.Context //nolint:containedctx // ends with the renewer
	end context.CancelFunc

	mu sync.Mutex
	// until is when the lease may have run out.
	until time.Time
	// timer fires when the lease is to be renewed.
	timer *time.Timer
	// limit fires when the lease may have run out, also where the store gives no answer at all.
	limit  *time.Timer
	closed bool
	// lost is why the lease is lost; nil while it is not.
	lost error
	// unreached is set where the lease is lost because the store gave no answer: perhaps nobody has taken it.
	unreached bool
	// renewals counts the renewal that is under way.
	renewals sync.WaitGroup
	// mail is what the last renewal brought.
	mail []journal.Mail
	// notify has something in it when there is mail.
	notify chan struct{}
}

// Renew begins to renew a lease. The caller closes the renewer. The renewer calls stop when the run must stop, perhaps more
// than once. The lease's time counts on this process's clock from now on: this clock and the store's need not agree, only
// run at the same speed.
func Renew(base context.Context, store journal.Store, l journal.Lease, stop context.CancelFunc) *Renewer {
	ctx, end := context.WithCancel(base)
	r := &Renewer{
		store: store, lease: l, stop: stop, ctx: ctx, end: end, until: time.Now().Add(l.Term),
		notify: make(chan struct{}, 1),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = time.AfterFunc(l.Term, r.expire)
	r.timer = time.AfterFunc(renewal(l.Term), r.renew)
	return r
}

// renewal returns how long after one renewal the next one comes: 3 s, or a third of a shorter lease.
func renewal(term time.Duration) time.Duration { return min(term/3, 3*time.Second) }

// renew renews the lease once; the timer calls it.
func (r *Renewer) renew() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.renewals.Add(1)
	r.mu.Unlock()
	defer r.renewals.Done()

	asked := time.Now()
	news, err := r.store.Renew(r.ctx, r.lease)

	r.mu.Lock()
	defer r.mu.Unlock()
	next := renewal(r.lease.Term)
	switch {
	case r.closed || r.lost != nil:
		r.unreached = r.unreached && !errors.Is(err, event.ErrLeaseLost)
		return
	case err == nil:
		r.until = asked.Add(r.lease.Term)
		if news.Cancelled {
			r.stop()
		}
		if r.mail = news.Mail; len(r.mail) > 0 {
			select {
			case r.notify <- struct{}{}:
			default:
			}
		}
	case errors.Is(err, event.ErrLeaseLost):
		r.lost = err
		r.stop()
		return
	case time.Now().After(r.until):
		r.lost, r.unreached = outOfReach(err), true
		r.stop()
		return
	default:
		// The store may be back at any moment, and little time is left.
		next = min(next, time.Second)
	}
	r.timer.Reset(next)
}

// expire ends a lease that was not renewed in time; the limit calls it. Renewals move the end of the lease and not the
// timer, so expire sets the timer again as often as it finds that there is time left.
func (r *Renewer) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.lost != nil {
		return
	}
	if left := time.Until(r.until); left > 0 {
		r.limit.Reset(left)
		return
	}
	r.lost, r.unreached = outOfReach(nil), true
	r.stop()
}

func outOfReach(err error) error {
	return &event.Error{
		Op: "run", Kind: event.ErrLeaseLost, Message: "the store could not be reached until the lease ran out",
		Hint: "the run goes on elsewhere, or here once the store is back: resume it", Err: err,
	}
}

// Lose records that the lease is lost, because the store has said so, and stops the run.
func (r *Renewer) Lose(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer.Stop()
	r.limit.Stop()
	r.lost, r.unreached = err, false
	r.stop()
}

// Notified returns a channel that has something in it when a renewal has brought mail. It returns nil for a nil renewer.
func (r *Renewer) Notified() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.notify
}

// TakeMail returns the mail that the last renewal brought, once.
func (r *Renewer) TakeMail() []journal.Mail {
	r.mu.Lock()
	defer r.mu.Unlock()
	mail := r.mail
	r.mail = nil
	return mail
}

// Left returns how long the lease is certainly good for.
func (r *Renewer) Left() time.Duration {
	if r == nil {
		return time.Hour
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.until)
}

// Err returns why the lease is lost; nil while it is not.
func (r *Renewer) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// OutOfContact reports whether the lease is lost because the store gave no answer.
func (r *Renewer) OutOfContact() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unreached
}

// Close stops the renewing, and waits for a renewal that is under way.
func (r *Renewer) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	r.timer.Stop()
	r.limit.Stop()
	r.mu.Unlock()
	r.end()
	r.renewals.Wait()
}
