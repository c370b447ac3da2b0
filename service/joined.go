package service

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// joinedPage is how many events are read at a time.
const joinedPage = 512

// joined completes the result of a request whose message joined an open run. It fills in the run's
// row and After, the place that the stream starts from. That place is before the main agent's model
// call in progress when the message came, or before the run if there was none. A repeated request
// finds the same place, even after the message has entered the log.
func (s *conversations) joined(ctx context.Context, started *Started, key string) error {
	run := &started.Run
	after, err := s.end(ctx, run.Conversation) // before the row is read: then a run that has not begun begins after it
	if err != nil {
		return err
	}
	row, err := s.rowOf(ctx, run.Conversation, run.ID)
	if err != nil {
		return err
	}
	if row.First > 0 {
		after = row.First - 1
	}
	if run.Status == "" { // a repeated message: only the run's id is known
		*run = row
	}
	letter := ""
	if key != "" {
		letter = journal.LetterID(key)
	}
	step := ""
	for at := after; ; {
		events, more, err := s.options.Journal.ReadPage(ctx, run.Conversation, at, joinedPage, pageBytes)
		if err != nil {
			return err
		}
		for _, e := range events {
			at = e.Seq
			if e.Run != run.ID {
				if step == "" { // the run has not begun: earlier events belong to another run
					after = e.Seq
				}
				continue
			}
			switch b := e.Body.(type) {
			case *event.UserMessage:
				if letter != "" && b.Mail == letter {
					started.After = after
					return nil
				}
			case *event.StepBegun:
				if b.Step == event.StepModel && e.Scope == "" && e.Step != step {
					step, after = e.Step, e.Seq-1
				}
			}
		}
		if !more {
			started.After = after
			return nil
		}
	}
}

// rowOf returns a run's row, open or ended.
func (s *conversations) rowOf(ctx context.Context, conversation, run string) (journal.Run, error) {
	is := func(r journal.Run) bool { return r.ID == run }
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	if i := slices.IndexFunc(open, is); i >= 0 {
		return open[i], nil
	}
	all, err := s.options.Journal.Runs(ctx, conversation, 0, 0)
	if err != nil {
		return journal.Run{}, err
	}
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], nil
	}
	return journal.Run{}, notFound("run", "run")
}
