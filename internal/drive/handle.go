package drive

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Handle is what the drives of one process share of a conversation: its place in the store, the run that uses it now,
// and the fold of its log, which stays in memory between runs. One run at a time uses a handle.
type Handle struct {
	ID    string
	Store journal.Store
	// Fill completes each batch before its commit; nil adds nothing.
	Fill func(context.Context, journal.Lease, *journal.Batch) error
	// Own is set if nobody else writes to the store.
	Own bool
	// StoreEvery is how many events an opening may fold until the fold is stored; 0 for the default.
	StoreEvery int64

	mu     sync.Mutex
	busy   bool
	cancel context.CancelFunc
	// run is the run that uses the handle now.
	run string
	// wake receives a value when this process has sent something to the run.
	wake chan struct{}
	// freed is closed when the handle is released.
	freed chan struct{}
	Runs  int
	// Warm is the fold up to its last Seq; nil means that the log must be folded again.
	Warm *fold.Conversation
}

// commit writes a batch with events.
func (c *Handle) commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if c.Fill != nil && len(b.Events) > 0 {
		return c.commitFilled(ctx, l, b)
	}
	return c.Store.Commit(ctx, l, b)
}

func (c *Handle) commitFilled(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if err := c.Fill(ctx, l, &b); err != nil {
		return err
	}
	return c.Store.Commit(ctx, l, b)
}

// lock takes the handle for one run.
func (c *Handle) lock(cancel context.CancelFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return &event.Error{
			Op: "run", Kind: event.ErrLocked, Message: "the conversation is busy with another run",
			Hint: "wait for it, or begin another conversation",
		}
	}
	c.take(cancel)
	return nil
}

func (c *Handle) take(cancel context.CancelFunc) {
	c.busy, c.cancel = true, cancel
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
}

// lockWhenFree takes the handle for one run when the run before has released it.
func (c *Handle) lockWhenFree(ctx context.Context, cancel context.CancelFunc) error {
	for {
		c.mu.Lock()
		if !c.busy {
			c.take(cancel)
			c.mu.Unlock()
			return nil
		}
		if c.freed == nil {
			c.freed = make(chan struct{})
		}
		freed := c.freed
		c.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return stopped("run", ctx)
		}
	}
}

// drives notes the run that uses the handle.
func (c *Handle) drives(run string) {
	c.mu.Lock()
	c.run = run
	c.mu.Unlock()
}

// WakeDriver notifies the driver of this process.
func (c *Handle) WakeDriver() {
	c.mu.Lock()
	wake := c.wake
	c.mu.Unlock()
	if wake != nil {
		notify(wake)
	}
}

func (c *Handle) unlock(warm *fold.Conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if warm != nil && warm.Stale {
		warm = nil
	}
	c.busy, c.cancel, c.Warm, c.run = false, nil, warm, ""
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
}

// newRun returns the id of a new run. In a log of its own it counts; in a shared store the id is random.
func (c *Handle) newRun() string {
	if c.Own {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Runs++
		return "run-" + strconv.Itoa(c.Runs)
	}
	return "run-" + rand.Text()
}

// Look calls f with the fold: the one in memory if it is current and no run is driven, else one from the store. What f
// takes out of it must not change when a run goes on. Older messages may be missing.
func (c *Handle) Look(ctx context.Context, f func(*fold.Conversation)) error {
	return c.look(ctx, false, f)
}

// LookWhole is Look with all messages.
func (c *Handle) LookWhole(ctx context.Context, f func(*fold.Conversation)) error {
	return c.look(ctx, true, f)
}

func (c *Handle) look(ctx context.Context, whole bool, f func(*fold.Conversation)) error {
	c.mu.Lock()
	warm, busy := c.Warm, c.busy
	last := int64(0)
	if warm != nil && !busy {
		last = warm.Last
	}
	c.mu.Unlock()
	if warm != nil && !busy {
		events, err := c.Store.Read(ctx, c.ID, last, 1)
		if err != nil {
			return err
		}
		c.mu.Lock()
		if len(events) == 0 && c.Warm == warm && !c.busy && warm.Last == last && (!whole || warm.Missing() == 0) {
			defer c.mu.Unlock()
			f(warm)
			return nil
		}
		c.mu.Unlock()
	}
	v, err := c.ColdView(ctx)
	if err == nil && whole && !c.complete(ctx, v) {
		v, err = c.logView(ctx)
	}
	if err != nil {
		return err
	}
	f(v)
	return nil
}

// foldable converts the end of a log for a fold.
func foldable(t *journal.Tail) *fold.Tail {
	return &fold.Tail{First: t.First, Last: t.Last, Events: t.Events, Session: t.Session, Begin: t.Begin, State: t.State}
}

// WholeView folds the whole log.
func (c *Handle) WholeView(ctx context.Context) (*fold.Conversation, error) {
	events, err := c.Store.Read(ctx, c.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	return fold.New(events), nil
}

// readTail reads as much of a log as is still needed.
func readTail(ctx context.Context, store journal.Store, conversation string) (journal.Tail, error) {
	tail, err := store.Tail(ctx, conversation)
	if err != nil {
		return tail, err
	}
	return withContinued(ctx, store, conversation, tail)
}

// CancelRun asks for the open run to be cancelled. Without an open run it does nothing.
func (c *Handle) CancelRun(ctx context.Context) error {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
		return nil
	}
	run := ""
	err := c.Look(ctx, func(v *fold.Conversation) {
		if v.Open() {
			run = v.Run.ID
		}
	})
	if err != nil {
		return err
	}
	if run == "" {
		if run = c.queued(ctx); run == "" {
			return nil
		}
	}
	return c.Store.Post(ctx, journal.Mail{ID: "cancel-" + run, Run: run, Kind: journal.MailCancel})
}

// NewID returns a random name. It is no secret.
func NewID() string {
	return strconv.FormatUint(mathrand.Uint64(), 36) + strconv.FormatUint(mathrand.Uint64(), 36) //nolint:gosec // no secret
}

// Events reads the log after seq, in order.
func (c *Handle) Events(ctx context.Context, after int64) iter.Seq2[*event.Event, error] {
	const page, bytes = 256, 4 << 20
	return func(yield func(*event.Event, error) bool) {
		for {
			events, more, err := c.Store.ReadPage(ctx, c.ID, after, page, bytes)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if !more {
				return
			}
		}
	}
}

// withContinued extends the end of a log whose first run continues an earlier one, because that run is needed too.
func withContinued(ctx context.Context, store journal.Store, conversation string, t journal.Tail) (journal.Tail, error) {
	if len(t.Events) == 0 || t.First <= 1 {
		return t, nil
	}
	b, ok := t.Events[0].Body.(*event.RunStarted)
	if !ok || b.Continues == "" || b.From <= 0 || b.From >= t.First {
		return t, nil
	}
	events, err := store.Read(ctx, conversation, b.From-1, 0)
	if err != nil || len(events) == 0 {
		return t, err
	}
	t.First, t.Events, t.Last = b.From, events, events[len(events)-1].Seq
	return t, nil
}

// acquire takes a run. The result of an ended run says so.
func (c *Handle) acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	opened, err := c.Store.Acquire(ctx, run, have)
	if errors.Is(err, event.ErrConflict) {
		// No run that can be acquired is refused like this: it has ended.
		return journal.Opened{Run: journal.Run{ID: run, Status: event.RunCompleted}}, err
	}
	return opened, err
}

// waitTurn waits until it may be this run's turn: the handle was released, or some time has passed.
func (c *Handle) waitTurn(ctx context.Context, locked error) error {
	const pause = 200 * time.Millisecond
	wait := pause
	if e, ok := errors.AsType[*event.Error](locked); ok && e.RetryAfter > 0 {
		wait = min(e.RetryAfter, time.Second)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	c.mu.Lock()
	if c.freed == nil {
		c.freed = make(chan struct{})
	}
	freed := c.freed
	c.mu.Unlock()
	select {
	case <-freed:
	case <-t.C:
	case <-ctx.Done():
		return stopped("run", ctx)
	}
	return nil
}

// stopped returns the end of ctx as an [event.Error].
func stopped(op string, ctx context.Context) error { //nolint:revive // the operation is what the reader looks for
	err := context.Cause(ctx)
	kind := event.ErrCancelled
	if errors.Is(err, context.DeadlineExceeded) {
		kind = event.ErrTimeout
	}
	return &event.Error{Op: op, Kind: kind, Message: "the wait was ended before it was the run's turn", Err: err}
}

// notify leaves one notification in a channel of capacity 1.
func notify(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// queued returns the run at the head of the conversation's queue if it has not begun and nobody has cancelled it; "" for none.
func (c *Handle) queued(ctx context.Context) string {
	open, err := c.Store.Queue(ctx, c.ID)
	if err != nil || len(open) == 0 || open[0].Status != event.RunQueued || open[0].Cancelled {
		return ""
	}
	return open[0].ID
}
