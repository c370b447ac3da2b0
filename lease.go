package braid

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// keeper renews a driver's lease beside it, whatever its tools are doing, and
// stops the run when the lease is known to be lost, could have run out, or when
// somebody asked for the run to be cancelled. It costs two timers while nothing
// has to be renewed.
type keeper struct {
	store journal.Store
	lease journal.Lease
	// stop cancels the run's steps.
	stop context.CancelFunc
	ctx  context.Context //nolint:containedctx // ends with the keeper
	end  context.CancelFunc

	mu    sync.Mutex
	term  time.Duration
	until time.Time
	timer *time.Timer
	// limit rings when the lease may have run out, also where the store gives no
	// answer at all.
	limit  *time.Timer
	closed bool
	lost   error
	// away is set where the lease is lost because the store gave no answer: nobody may have taken it.
	away bool
	work sync.WaitGroup
	// mail is what the last renewal brought, and rang says that there is some.
	mail []journal.Mail
	rang chan struct{}
}

// keep begins to keep a lease. Times are told by this process's clock from the
// moment the lease was given: the two clocks need not agree, only run as fast.
func keep(base context.Context, store journal.Store, l journal.Lease, term time.Duration, stop context.CancelFunc) *keeper {
	ctx, end := context.WithCancel(base)
	k := &keeper{
		store: store, lease: l, stop: stop, ctx: ctx, end: end, term: term, until: time.Now().Add(term),
		rang: make(chan struct{}, 1),
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit = time.AfterFunc(term, k.expire)
	k.timer = time.AfterFunc(renewal(term), k.renew)
	return k
}

// renewal is how long after one renewal the next one comes: 3 s, or a third of a shorter lease.
func renewal(term time.Duration) time.Duration { return min(term/3, 3*time.Second) }

// renew is the timer's function.
func (k *keeper) renew() {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return
	}
	k.work.Add(1)
	k.mu.Unlock()
	defer k.work.Done()

	asked := time.Now()
	news, err := k.store.Renew(k.ctx, k.lease)

	k.mu.Lock()
	defer k.mu.Unlock()
	next := renewal(k.term)
	switch {
	case k.closed || k.lost != nil:
		k.away = k.away && !errors.Is(err, event.ErrLeaseLost)
		return
	case err == nil:
		k.until = asked.Add(k.term)
		if news.Cancelled {
			k.stop()
		}
		if k.mail = news.Mail; len(k.mail) > 0 {
			ring(k.rang)
		}
	case errors.Is(err, event.ErrLeaseLost):
		k.lost = err
		k.stop()
		return
	case time.Now().After(k.until):
		k.lost, k.away = outOfReach(err), true
		k.stop()
		return
	default:
		// The store may be back any moment, and there is little time left.
		next = min(next, time.Second)
	}
	k.timer.Reset(next)
}

// expire is the limit's function. Renewals move the end of the lease and not the
// timer, so it is set again as often as it finds that there is time left.
func (k *keeper) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.lost != nil {
		return
	}
	if left := time.Until(k.until); left > 0 {
		k.limit.Reset(left)
		return
	}
	k.lost, k.away = outOfReach(nil), true
	k.stop()
}

func outOfReach(err error) error {
	return &event.Error{
		Op: "run", Kind: event.ErrLeaseLost, Message: "the store could not be reached until the lease ran out",
		Hint: "the run goes on elsewhere, or here once the store is back: resume it", Err: err,
	}
}

// lose takes in that the lease is lost, from who was told.
func (k *keeper) lose(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer.Stop()
	k.limit.Stop()
	k.lost, k.away = err, false
	k.stop()
}

// bell rings when a renewal has brought mail; nil where there is no keeper.
func (k *keeper) bell() <-chan struct{} {
	if k == nil {
		return nil
	}
	return k.rang
}

// letters gives the mail that the last renewal brought, once.
func (k *keeper) letters() []journal.Mail {
	k.mu.Lock()
	defer k.mu.Unlock()
	mail := k.mail
	k.mail = nil
	return mail
}

// left is how long the lease is certainly good for.
func (k *keeper) left() time.Duration {
	if k == nil {
		return time.Hour
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Until(k.until)
}

// err tells that the lease is lost.
func (k *keeper) err() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}

// outLived reports whether the lease is lost because the store gave no answer.
func (k *keeper) outLived() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.away
}

// close ends the keeping and waits for a renewal that is under way.
func (k *keeper) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.closed = true
	k.timer.Stop()
	k.limit.Stop()
	k.mu.Unlock()
	k.end()
	k.work.Wait()
}

// ring sounds a bell that need not be heard more than once.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
