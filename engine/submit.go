package engine

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Submit implements [Engine].
func (l *Local) Submit(ctx context.Context, run journal.Run) (journal.Run, error) {
	tenant, err := l.promise(run.Tenant)
	if err != nil {
		return journal.Run{}, err
	}
	row, err := l.store.Admit(ctx, run)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.backlog--
	tenant.backlog--
	if err == nil && row.Status == event.RunQueued && l.tasks[row.ID] == nil {
		l.enqueue(l.know(row))
	}
	l.queue.tidy(tenant)
	l.dispatch()
	return row, err
}

// Wake implements [Engine]. It never fails.
func (l *Local) Wake(_ context.Context, run journal.Run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(run, false)
	return nil
}

// Cancel implements [Engine].
func (l *Local) Cancel(ctx context.Context, run journal.Run, by string) error {
	err := l.store.Post(ctx, journal.Mail{ID: "cancel-" + run.ID, Run: run.ID, Kind: journal.MailCancel, By: by})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tasks[run.ID]; t != nil && t.state == running {
		t.cancel(&event.Error{Op: "run", Kind: event.ErrCancelled, Message: "somebody asked for the run to be cancelled"})
	}
	l.wake(run, true)
	return nil
}

// wake drives a run soon, because it has mail.
func (l *Local) wake(run journal.Run, urgent bool) {
	if l.phase == drained || run.ID == "" || run.Conversation == "" {
		return
	}
	t := l.tasks[run.ID]
	if t != nil && !urgent {
		t.woken = true
	}
	switch {
	case t == nil && l.queue.ready >= l.options.Backlog:
		l.wantSweep() // there is no room now; the journal keeps the run
		return
	case t == nil:
		t = l.know(run)
		t.urgent, t.woken = urgent, !urgent
		l.enqueue(t)
	case t.state == running:
		select {
		case t.mail <- struct{}{}:
		default:
		}
	case t.state == delayed:
		if t.fails > 0 && !urgent {
			return // mail does not shorten the wait after a failure
		}
		t.urgent = t.urgent || urgent
		l.undelay(t)
		l.enqueue(t)
	case urgent:
		l.queue.raise(t)
	}
	l.dispatch()
}

// promise reserves a place in the backlog while a run is being admitted.
func (l *Local) promise(name string) (*tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == drained {
		return nil, closing("submit")
	}
	t := l.queue.tenant(name, l.options.share)
	full := ""
	switch {
	case t.backlog >= t.share.Backlog:
		full = "too many of your runs are waiting to be started"
	case l.queue.backlog >= l.options.Backlog:
		full = "too many runs are waiting to be started"
	}
	if full != "" {
		after := l.retryAfter(t)
		l.queue.tidy(t)
		return nil, &event.Error{
			Op: "submit", Kind: event.ErrBacklogFull, Message: full,
			Hint: "try again in " + after.String(), RetryAfter: after,
		}
	}
	t.backlog++
	l.queue.backlog++
	return t, nil
}
