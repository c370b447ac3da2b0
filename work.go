package braid

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
)

// Work is what an engine gives a drive besides the run. The zero value is right for
// one who has no engine.
type Work struct {
	// Sink gets every event as it happens, durable ones after their commit. It is
	// called by the driver and must be quick; nil means nobody.
	Sink func(event.Event)
	// Mail has something in it when mail was left for the run.
	Mail <-chan struct{}
	// Draining is closed when the run is to be handed back as soon as nothing of it
	// is in flight.
	Draining <-chan struct{}
	// ForgetFailed does for this run what [ForgetFailed] does for an agent.
	ForgetFailed bool
	// Secrets are for this run what those of [WithSecrets] are.
	Secrets map[string]secret.Secret
	// Shown are the names of those Secrets that are none: tools read them, and nobody hides them.
	Shown []string
	// Models gives what is called in place of a model, for what an engine does around every call of the run; those of
	// sub-agents and for summaries, too. Nothing but Stream of what it gives is called, which must keep the promises of
	// the model's own. nil changes nothing.
	Models func(Model) Model
	// Stalled, if set, is called with the store's error when the drive begins to wait because the store refuses to write, and
	// with nil when it goes on. A drive that ends need not call it again.
	Stalled func(error)
}

// Drive drives a run that was admitted, in whatever state it is, under a lease of its
// own: until it ends, waits (Result.WakeAt tells for how long), or is handed back.
// A wait of more than 30 s for a model that is to be called again is a wait, too.
//
// The error says that the run could not be driven, not how it ended: Result.Status
// and Result.Stop do that. It is [event.ErrConflict] for a run that has ended,
// [event.ErrLocked] where another driver or an earlier run has the conversation,
// [event.ErrLeaseLost] where another driver has taken over, and [event.ErrNotFound]
// for an unknown run, or one that was begun by another agent.
//
// Where ctx is cancelled the run is ended as cancelled, or as timed out at a
// deadline. Where the cause is of the kind [event.ErrUnavailable] it is handed
// back instead: what was in flight is left for the next driver, who finds it as after
// a crash, and Result.Status is running.
func (a *Agent) Drive(ctx context.Context, conv *Conversation, run string, w Work) (*Result, error) {
	r := &Result{}
	sink := func(event.Event) bool { return true }
	if w.Sink != nil {
		sink = func(e event.Event) bool {
			w.Sink(e)
			return true
		}
	}
	o := runOptions{conv: conv, run: run, work: &w}
	err := a.drive(ctx, resume{}, &o, r, sink)
	return r, err
}

// acquire takes a run. Of one that is over the answer says so.
func (c *Conversation) acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	opened, err := c.store.Acquire(ctx, run, have)
	if errors.Is(err, event.ErrConflict) {
		// No run that can be acquired is refused like this: it has ended.
		return journal.Opened{Run: journal.Run{ID: run, Status: event.RunCompleted}}, err
	}
	return opened, err
}

// waitTurn waits until it may be this run's turn: the handle was given back, or some
// time has passed.
func (c *Conversation) waitTurn(ctx context.Context, locked error) error {
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

// stopped is ctx's end as one of our errors.
func stopped(op string, ctx context.Context) error { //nolint:revive // the operation is what the reader looks for
	err := context.Cause(ctx)
	kind := event.ErrCancelled
	if errors.Is(err, context.DeadlineExceeded) {
		kind = event.ErrTimeout
	}
	return &event.Error{Op: op, Kind: kind, Message: "the wait was ended before it was the run's turn", Err: err}
}
