package drive

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/journal"
)

// This file drives runs whose conversation is not in memory. The store counts a driver when it gives out the lease
// (journal.Run.Lost), so an engine's drive takes the lease first and reads the log second: if reading ends the process,
// the next drivers know that one was lost. A run whose log cannot be read is ended without being read.

// codeUnread is the Code of the error of a run that was ended without reading its log.
const codeUnread = "CONVERSATION_UNREADABLE"

// unreadView stands for a log that is read after its lease was taken. A store sends no events to a driver that claims
// to have all.
func unreadView() *fold.Conversation { return &fold.Conversation{Last: math.MaxInt64} }

// readTaken folds the log of a run that was taken, and renews the lease meanwhile: reading a long log may take longer
// than a lease lasts. The caller closes the renewer, also if there is an error. A panic is an error with a [event.PanicError].
func (a *Agent) readTaken(
	ctx context.Context, conv *Handle, held journal.Lease, stop context.CancelFunc,
) (*fold.Conversation, *lease.Renewer, error) {
	var k *lease.Renewer
	if !conv.Own {
		k = lease.Renew(context.WithoutCancel(ctx), conv.Store, held, stop)
	}
	var v *fold.Conversation
	err := foreign.Shield("run", "reading the conversation", func() (err error) {
		if v, err = conv.ColdView(ctx); err == nil && !v.SpentKnown && a.Limits.Budgeted {
			v, err = conv.WholeView(ctx)
		}
		return err
	})
	if lost := k.Err(); lost != nil {
		err = lost
	}
	return v, k, err
}

// takeUnread reads the log of a run whose lease was taken first. It returns no view if the run is not to be driven.
func (a *Agent) takeUnread(
	ctx context.Context, stop context.CancelFunc, o *Request, opened *journal.Opened, r *hook.Outcome, sink func(event.Event) bool,
) (*fold.Conversation, error) {
	v, renewer, err := a.readTaken(ctx, o.Log, opened.Lease, stop)
	if err == nil {
		o.renewer = renewer
		return v, nil
	}
	if why, _ := errors.AsType[*event.Error](err); isPanic(err) {
		renewer.Close()
		_, err = a.endUnread(ctx, o, opened, why, r, sink)
		return nil, err
	}
	o.letGo(ctx, opened.Lease, renewer)
	return nil, err
}

// letGo gives back the lease of a run that could not be read, so that nobody waits until it has run out.
func (o *Request) letGo(ctx context.Context, held journal.Lease, k *lease.Renewer) {
	defer k.Close()
	base := context.WithoutCancel(ctx)
	if k.Err() == nil {
		err := o.Log.Store.Commit(base, held, journal.Batch{Release: true})
		if errors.Is(err, event.ErrStorageFull) && o.Engine != nil {
			giveBackLate(base, o.Log.Store, held, o.Engine, math.MaxInt64)
		}
		return
	}
	k.Close()
	if k.OutOfContact() && o.Engine != nil {
		giveBackLate(base, o.Log.Store, held, o.Engine, lateTime)
	}
}

// isPanic reports whether an error comes from a panic.
func isPanic(err error) bool {
	_, ok := errors.AsType[*event.PanicError](err)
	return ok
}

// behindUnread reports whether a run that lost a driver before it began stands behind a run that was ended unread.
// Reading the log has then ended a process once more, and is not tried again. It renews the lease while it waits for
// the store.
func (a *Agent) behindUnread(ctx context.Context, stop context.CancelFunc, conv *Handle, o *journal.Opened) bool {
	if a.Limits.LostDrivers <= 0 || o.Run.Lost == 0 || o.Run.Session > 0 || o.Last == 0 {
		return false
	}
	if !conv.Own {
		defer lease.Renew(context.WithoutCancel(ctx), conv.Store, o.Lease, stop).Close()
	}
	events, err := conv.Store.Read(ctx, conv.ID, o.Last-1, 1)
	if err != nil || len(events) != 1 {
		return false
	}
	end, ok := events[0].Body.(*event.RunEnded)
	return ok && end.Err != nil && end.Err.Code == codeUnread
}

// unreadable returns the error of a run whose log cannot be read. why is the known reason.
func unreadable(why *event.Error) *event.Error {
	e := *why
	e.Code = codeUnread
	e.Hint = "begin another conversation, or reset this one so that the next run does not read it"
	return &e
}

// lostReading returns why a run behind an unread one is ended unread too.
func lostReading(row *journal.Run) *event.Error {
	return &event.Error{
		Op: "run", Kind: event.ErrPoisoned, Message: "the processes that read the conversation died",
		Err: errors.New("drivers lost: " + strconv.Itoa(row.Lost)),
	}
}

// endUnread ends a run without reading its log, as failed with why, or as cancelled if that was asked for. Open calls
// get no end of their own; folds close them with the run. It returns the error that the run ended with.
func (a *Agent) endUnread(
	ctx context.Context, opts *Request, o *journal.Opened, why *event.Error, r *hook.Outcome, sink func(event.Event) bool,
) (*event.Error, error) {
	ctx = context.WithoutCancel(ctx)
	end := &event.RunEnded{Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed, Err: unreadable(why)}
	var b journal.Batch
	cancelled := o.Run.Cancelled
	for i := range o.Mail {
		cancelled = cancelled || o.Mail[i].Kind == journal.MailCancel
		if o.Mail[i].Kind != journal.MailMessage { // the next run gets messages
			b.Read = append(b.Read, o.Mail[i].ID)
		}
	}
	if cancelled {
		end.Status, end.Stop, end.Why = event.RunCancelled, event.StopCancelled, event.WhyCancelled
		end.Err.Kind, end.Err.Message = event.ErrCancelled, "the run was cancelled; its conversation cannot be read"
	}
	b.Status, b.Release = end.Status, true
	now := time.Now()
	add := func(body event.Body) {
		b.Events = append(b.Events, &event.Event{Header: event.Header{
			Seq: o.Last + int64(len(b.Events)) + 1, Conversation: o.Run.Conversation, Run: o.Run.ID, Author: event.UserAuthor, Time: now,
		}, Body: body})
	}
	if o.Run.Session == 0 { // it has not begun, and has cost nothing
		add(&event.RunStarted{Agent: o.Run.Agent, Turn: o.Run.Turn})
		for _, m := range a.inputUnread(ctx, opts, o) {
			add(&event.UserMessage{Content: m.Content})
		}
		end.CostNanoUSD = new(int64)
	}
	add(end)
	if err := opts.Log.commit(ctx, o.Lease, b); err != nil {
		return nil, err
	}
	if r != nil {
		r.Run, r.Status, r.Stop, r.Why, r.CostNanoUSD = o.Run.ID, end.Status, end.Stop, end.Why, end.CostNanoUSD
	}
	for _, e := range b.Events {
		if !sink(*e) {
			break
		}
	}
	return end.Err, nil
}

// inputUnread returns the users' messages in the input of a run that has not begun. Guardrails and masks have not seen
// them: if there are any, the content is redacted.
func (a *Agent) inputUnread(ctx context.Context, opts *Request, o *journal.Opened) []event.Message {
	if o.Run.Key != "" {
		if run, err := opts.Log.Store.Entered(ctx, o.Run.Conversation, journal.LetterID(o.Run.Key)); err != nil || run != "" {
			return nil // it is in the log already
		}
	}
	in := slices.DeleteFunc(a.unguarded(o.Run.Input), func(m event.Message) bool { return m.Role != event.RoleUser })
	if len(opts.Secrets) > 0 || opts.Engine != nil && len(opts.Engine.Secrets) > 0 {
		for i := range in {
			in[i].Content = fold.RedactedContent
		}
	}
	return in
}
