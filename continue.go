package braid

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// How a run takes over the work of one that failed: [Agent.Resume] admits a run without input that names the
// failed one, and its first step is what failed. The failed run and its end stay in the log as they are.

// Retryable gives the id of the run that [Agent.Resume] would continue with a new one: the newest run, where it failed
// after it had begun to work, or where a limit or its deadline ended it before its answer. It is empty for
// all others: a run that is open, that is complete, or that a user stopped.
func (c *Conversation) Retryable(ctx context.Context) (run string, err error) {
	err = c.look(ctx, func(v *fold.Conversation) {
		if v.Continuable() || v.Limited() {
			run = v.Run.ID
		}
	})
	return run, err
}

// ForgetFailed makes conversations forget the messages of the agent's failed runs: later runs see only a note
// of what their tools did. Without it they see whole messages and results, and a note that the run failed.
// A failed run can be continued with [Agent.Resume] either way. Each run's end records which it was.
func ForgetFailed() Part {
	return partFunc(func(a *Agent) error {
		a.set.forgets = true
		return nil
	})
}

// takesOver notes at a run's beginning which failed run it continues. Where another run came between, the run
// fails: it has no input of its own.
func (d *driver) takesOver(b *event.RunStarted) {
	failed := d.row.Metadata[journal.ContinuesLabel]
	if failed == "" || len(d.row.Input) > 0 {
		return
	}
	if v := d.view; v.Run != nil && v.Run.ID == failed && !d.row.NewSession {
		switch {
		case v.Continuable():
			b.Continues, b.From = failed, v.Run.First
			return
		case v.Limited():
			return
		}
	}
	d.broke(&event.Error{
		Op: "resume", Kind: event.ErrConflict, Message: "the run that was to be continued is not the conversation's newest, or did not fail",
		Hint: "begin a run with new input",
	})
}

// withContinued lengthens the end of a log that begins with a run that continues an earlier one: that is
// needed, too.
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
