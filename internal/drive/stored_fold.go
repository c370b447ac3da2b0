package drive

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/journal"
)

// A conversation is opened from a stored fold and the events after it, if the store has one. The stored fold is a cache:
// what does not fit leads to the log, never to an error. Older messages are read when a model is to see them.

// ColdView folds as much of the log as is still needed, or a stored fold and what follows it.
func (c *Handle) ColdView(ctx context.Context) (*fold.Conversation, error) {
	tail, err := c.Store.StoredTail(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if len(tail.Head) > 0 {
		if v := fold.FromStored(c.ID, tail.Seq, tail.Head, tail.Events); v != nil {
			return v, nil
		}
		return c.logView(ctx)
	}
	t, err := withContinued(ctx, c.Store, c.ID, tail.Tail)
	if err != nil {
		return nil, err
	}
	return fold.FromTail(foldable(&t), false), nil
}

// logView folds as much of the log as is still needed.
func (c *Handle) logView(ctx context.Context) (*fold.Conversation, error) {
	tail, err := readTail(ctx, c.Store, c.ID)
	if err != nil {
		return nil, err
	}
	return fold.FromTail(foldable(&tail), false), nil
}

// complete reads the messages that a fold left in the store. It reports whether the fold has them all; otherwise the log is
// to be folded.
func (c *Handle) complete(ctx context.Context, v *fold.Conversation) bool {
	if v.Missing() == 0 {
		return true
	}
	parts, err := c.Store.StoredParts(ctx, c.ID)
	if err != nil {
		return false
	}
	first, ok := v.Older(c.ID, parts)
	if ok {
		v.Complete(first)
	}
	return ok
}

// complete is [Handle.complete] for the driver's view. If it fails, the view is folded again before the next decision.
func (d *activeRun) complete() bool {
	if d.lease.conv.complete(d.lease.base, d.view) {
		return true
	}
	d.view.Stale, d.pending.awaited = true, true
	return false
}

// storeFold stores a fold for whoever opens the conversation next, if that is worth it. The run of the lease has ended and
// its caller has all events, so a failure changes nothing.
func (c *Handle) storeFold(ctx context.Context, l journal.Lease, v *fold.Conversation) {
	// A log that is collected with its handle is not opened again.
	if v == nil || c.Own && c.StoreEvery == 0 || ctx.Err() != nil || !v.Due(c.StoreEvery) {
		return
	}
	_ = foreign.Shield("run", "storing the fold", func() error {
		s, ok := v.Store(c.ID)
		if !ok {
			return nil
		}
		err := c.Store.StoreFold(ctx, l, journal.StoredFold{Seq: s.Seq, Head: s.Head, Before: s.Before, Parts: s.Parts})
		switch {
		case err == nil:
			v.Keep(s)
		case errors.Is(err, event.ErrConflict):
			v.Unkeep()
		}
		return err
	})
}
