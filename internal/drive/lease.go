package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// runLease is the lease under which a drive writes, and the store that has given it.
type runLease struct {
	conv *Handle
	held journal.Lease
	// renewer is nil where nobody else can take the lease.
	renewer *leaseRenewer
	// base outlives the run's context, for the commits that record its end.
	base context.Context //nolint:containedctx // a drive lives for one call
}

// commit writes a batch. A store that cannot be reached may have written it all the same, so commit repeats the same
// batch until the lease may have run out. It calls stalled with the error when it begins to wait, and with nil when the
// store writes again.
func (l *runLease) commit(b journal.Batch, stalled func(error)) error {
	waits := false
	return l.retry(func() error {
		err := l.conv.commit(l.base, l.held, b)
		switch {
		case waits && err == nil:
			stalled(nil)
		case !waits && l.again(err, firstPause):
			waits = true
			stalled(err)
		}
		return err
	})
}

// firstPause is how long a driver waits before it asks a store again that could not be reached. Each pause is twice as
// long as the one before, up to a second.
const firstPause = 10 * time.Millisecond

// retry calls f again and again while the store cannot be reached, until the lease may have run out.
func (l *runLease) retry(f func() error) error {
	for wait := firstPause; ; wait = min(2*wait, time.Second) {
		if err := l.renewer.err(); err != nil {
			return err
		}
		err := f()
		if !l.again(err, wait) {
			return err
		}
		<-time.After(wait)
	}
}

// again reports whether the store is to be asked again after a pause.
func (l *runLease) again(err error, wait time.Duration) bool {
	return errors.Is(err, event.ErrUnavailable) && wait <= l.renewer.left()
}

// release gives the lease back without writing anything, so that the next driver need not wait until it has run out.
func (l *runLease) release() {
	_ = l.conv.Store.Commit(l.base, l.held, journal.Batch{Release: true})
}

// leaseRenewer renews a driver's lease beside it, whatever its tools are doing. It stops the run when the lease is lost
// or could have run out, and when somebody has asked to cancel the run. It costs two timers while nothing has to be
// renewed. A nil renewer has a lease that nobody can lose.
type leaseRenewer struct {
	store journal.Store
	lease journal.Lease
	// stop cancels the run's steps.
	stop context.CancelFunc
	// ctx ends with the renewer.
	ctx context.Context //nolint:containedctx // ends with the renewer
	end context.CancelFunc

	mu   sync.Mutex
	term time.Duration
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

// renewLease begins to renew a lease. Its time counts on this process's clock from when the lease was given: the two
// clocks need not agree, only run at the same speed.
func renewLease(base context.Context, store journal.Store, l journal.Lease, term time.Duration, stop context.CancelFunc) *leaseRenewer {
	ctx, end := context.WithCancel(base)
	r := &leaseRenewer{
		store: store, lease: l, stop: stop, ctx: ctx, end: end, term: term, until: time.Now().Add(term),
		notify: make(chan struct{}, 1),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = time.AfterFunc(term, r.expire)
	r.timer = time.AfterFunc(renewal(term), r.renew)
	return r
}

// renewal is how long after one renewal the next one comes: 3 s, or a third of a shorter lease.
func renewal(term time.Duration) time.Duration { return min(term/3, 3*time.Second) }

// renew is the function of the timer.
func (r *leaseRenewer) renew() {
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
	next := renewal(r.term)
	switch {
	case r.closed || r.lost != nil:
		r.unreached = r.unreached && !errors.Is(err, event.ErrLeaseLost)
		return
	case err == nil:
		r.until = asked.Add(r.term)
		if news.Cancelled {
			r.stop()
		}
		if r.mail = news.Mail; len(r.mail) > 0 {
			notify(r.notify)
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

// expire is the function of the limit. Renewals move the end of the lease and not the timer, so expire sets the timer
// again as often as it finds that there is time left.
func (r *leaseRenewer) expire() {
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

// lose notes that the lease is lost, because the store has said so.
func (r *leaseRenewer) lose(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer.Stop()
	r.limit.Stop()
	r.lost, r.unreached = err, false
	r.stop()
}

// notified has something in it when a renewal has brought mail. It is nil where there is no renewer.
func (r *leaseRenewer) notified() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.notify
}

// takeMail returns the mail that the last renewal brought, once.
func (r *leaseRenewer) takeMail() []journal.Mail {
	r.mu.Lock()
	defer r.mu.Unlock()
	mail := r.mail
	r.mail = nil
	return mail
}

// left returns how long the lease is certainly good for.
func (r *leaseRenewer) left() time.Duration {
	if r == nil {
		return time.Hour
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.until)
}

// err returns why the lease is lost; nil while it is not.
func (r *leaseRenewer) err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// outOfContact reports whether the lease is lost because the store gave no answer.
func (r *leaseRenewer) outOfContact() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unreached
}

// close stops the renewing, and waits for a renewal that is under way.
func (r *leaseRenewer) close() {
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

// notify leaves one notification in a channel of capacity 1.
func notify(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
