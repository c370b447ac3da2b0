package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// asked is a [Row].Since whose turn is not known: it was reset by a version that did not note
// turns.
const asked = -1

// place returns how far a conversation has come.
func (s *conversations) place(ctx context.Context, conversation string, since int) (journal.Position, error) {
	return s.options.Journal.Position(ctx, conversation, since)
}

// session returns the id of the session of the conversation's next run. It is empty if that run
// begins a session.
func (s *conversations) session(ctx context.Context, row *Row) (string, error) {
	at, err := s.place(ctx, row.ID, row.Since)
	if err != nil || row.Since != 0 && !at.Begun {
		return "", err
	}
	return event.SessionID(row.ID, at.Session), nil
}

// reset notes the turn at which a new session begins, if still agrees. A run that is admitted at
// the same time belongs to the old session, and the next one begins the new session.
func (s *conversations) reset(ctx context.Context, row Row, still func(row *Row) bool) (Row, error) {
	at, err := s.place(ctx, row.ID, 0)
	if err != nil {
		return Row{}, err
	}
	defer s.changes.Add(1)
	return s.change(ctx, row.Key(), func(row *Row) error {
		if still(row) {
			row.Since = at.Turns + 1
			row.Updated = time.Now().UTC().Truncate(time.Microsecond)
		}
		return nil
	})
}

// settle notes the turn of a reset that an older version made.
func (s *conversations) settle(ctx context.Context, row *Row) error {
	if row.Since != asked {
		return nil
	}
	settled, err := s.reset(ctx, *row, func(row *Row) bool { return row.Since == asked })
	if err == nil {
		*row = settled
	}
	return err
}

// newest returns the turn of the conversation's newest run. It returns 0 if a reset makes the next
// run begin a session.
func (s *conversations) newest(ctx context.Context, row *Row) (int, error) {
	if err := s.settle(ctx, row); err != nil {
		return 0, err
	}
	at, err := s.place(ctx, row.ID, row.Since)
	if err != nil || row.Since > 0 && !at.Begun {
		return 0, err
	}
	return at.Turns, nil
}
