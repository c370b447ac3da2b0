package drive

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// PastWithdrawn repeats what was refused because another run is open, if that run was withdrawn.
func (c *Handle) PastWithdrawn(ctx context.Context, refused error, again func() error) error {
	if !errors.Is(refused, event.ErrLocked) {
		return refused
	}
	switch ended, err := c.endWithdrawn(context.WithoutCancel(ctx)); {
	case ended:
		return again()
	case err != nil && !errors.Is(err, event.ErrLocked) && !errors.Is(err, event.ErrLeaseLost):
		return err
	default:
		return refused
	}
}

// withdraw marks a run that was admitted and could not be taken. Its caller got an error, so it must neither begin
// later nor block others.
func (c *Handle) withdraw(ctx context.Context, run string) {
	// Where the store cannot be reached for this either, nothing can be done.
	_ = c.Store.Post(ctx, journal.Mail{ID: withdrawn + run, Run: run, Kind: journal.MailCancel})
}

// withdrawn is the prefix of the id of the entry that withdraws a run.
const withdrawn = "withdraw-"

// endWithdrawn ends the withdrawn runs at the head of the conversation's queue, without their input and without events
// for a reader. It reports whether there were any, and why one could not be ended.
func (c *Handle) endWithdrawn(ctx context.Context) (bool, error) {
	ended := false
	for {
		open, err := c.Store.Queue(ctx, c.ID)
		if err != nil || len(open) == 0 || open[0].Status != event.RunQueued || !open[0].Cancelled {
			return ended, err
		}
		run := open[0]
		opened, err := c.Store.Acquire(ctx, run.ID, math.MaxInt64)
		if errors.Is(err, event.ErrConflict) {
			ended = true // somebody else was quicker
			continue
		}
		if err != nil {
			return ended, err
		}
		b := journal.Batch{Release: true}
		if isWithdrawn(opened.Mail) {
			b = endOfWithdrawn(&opened)
		}
		if err := c.commit(ctx, opened.Lease, b); err != nil || b.Status == "" {
			return ended, err
		}
		ended = true
	}
}

func isWithdrawn(letters []journal.Mail) bool {
	return slices.ContainsFunc(letters, func(m journal.Mail) bool { return strings.HasPrefix(m.ID, withdrawn) })
}

// endOfWithdrawn returns the log of a run that was withdrawn before it began.
func endOfWithdrawn(o *journal.Opened) journal.Batch {
	head := event.Header{
		Seq: o.Last + 1, Conversation: o.Run.Conversation, Run: o.Run.ID, Author: event.UserAuthor, Time: time.Now(),
	}
	begun := &event.Event{Header: head, Body: &event.RunStarted{Agent: o.Run.Agent, Turn: o.Run.Turn}}
	head.Seq++
	b := journal.Batch{Status: event.RunCancelled, Events: []*event.Event{begun, {Header: head, Body: &event.RunEnded{
		Status: event.RunCancelled, Stop: event.StopCancelled, Why: event.WhyCancelled, CostNanoUSD: new(int64),
		Err: &event.Error{Op: "run", Kind: event.ErrCancelled, Message: "the run was withdrawn before it began"},
	}}}}
	for i := range o.Mail {
		if o.Mail[i].Kind != journal.MailMessage {
			b.Read = append(b.Read, o.Mail[i].ID)
		}
	}
	return b
}
