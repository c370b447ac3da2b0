package main

import (
	"context"
	"fmt"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// open lists the open runs of earlier programs in the conversation, the oldest first.
func (pl *place) open(ctx context.Context) ([]journal.Run, error) {
	if pl.before == nil {
		return nil, nil
	}
	open, err := pl.store.Queue(ctx, pl.before.ID)
	return open, storeError(err)
}

// finishOpen finishes the open runs one after another. It first prints their events so far.
func (t *repl) finishOpen(ctx context.Context, pl *place, ui *ui) error {
	done := map[string]bool{}
	for {
		open, err := pl.open(ctx)
		if err != nil || len(open) == 0 {
			return err
		}
		run := open[0]
		if done[run.ID] {
			return &event.Error{
				Kind: event.ErrConflict, Message: "the conversation's last run waits for an answer that cannot be given here",
				Hint: "braid show " + printer.ShortID(run.Conversation) + " shows it; begin another conversation meanwhile",
			}
		}
		done[run.ID] = true
		if err := t.replay(ctx, pl, &run, ui); err != nil {
			return err
		}
		if err := t.finish(ctx, run); err != nil {
			return err
		}
	}
}

// finish finishes one open run.
func (t *repl) finish(ctx context.Context, run journal.Run) error {
	ctx, release := t.ints.Guard(ctx)
	defer release()
	if run.Status != event.RunQueued {
		return t.through(ctx, t.goOn)
	}
	// The log has no event of it, so the run is found by its ID.
	return t.through(ctx, func(ctx context.Context) (*braid.Result, error) { return t.driveQueued(ctx, run.ID) })
}

// driveQueued executes an admitted run by its ID. Its error is the error of the run, like that of the
// library's Run.
func (t *repl) driveQueued(ctx context.Context, run string) (*braid.Result, error) {
	var failed *event.Error
	res, err := t.agent.Drive(ctx, t.conv, run, braid.Work{Sink: func(e event.Event) {
		if end, ok := e.Body.(*event.RunEnded); ok {
			failed = end.Err
		}
	}})
	if err == nil && failed != nil {
		err = failed
	}
	return res, err
}

// replay prints the events of a run in the log.
func (t *repl) replay(ctx context.Context, pl *place, run *journal.Run, ui *ui) error {
	said := false
	for e, err := range journal.RunEvents(ctx, pl.store, run) {
		if err != nil {
			return storeError(err)
		}
		if m, ok := e.Body.(*event.UserMessage); ok && e.Scope == "" && e.Author == event.UserAuthor && ui.story != nil {
			ui.story.Note(0, term.Dim, "you> %s", printer.OneLine(term.Clean(printer.ContentText(m.Content))))
			said = true
		}
		if err := t.show.Event(e); err != nil {
			return term.OutputError(err)
		}
	}
	if !said && ui.story != nil && len(run.Input) > 0 {
		ui.story.Note(0, term.Dim, "you> %s", printer.OneLine(term.Clean(printer.ContentText(run.Input[len(run.Input)-1].Content))))
	}
	return nil
}

// placeWords names the continued conversation.
func placeWords(c *journal.Summary, now time.Time) string {
	turns := "1 turn"
	if c.Turns != 1 {
		turns = fmt.Sprintf("%d turns", c.Turns)
	}
	return fmt.Sprintf("conversation %s, %s, the last one %s; braid show tells what was said",
		term.CleanLine(printer.ShortID(c.ID)), turns, ago(now.Sub(c.Updated)))
}

// ago formats an age in its largest fitting unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}
