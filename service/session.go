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
func (s *Service) place(ctx context.Context, conversation string, since int) (journal.Position, error) {
	return s.options.Journal.Position(ctx, conversation, since)
}

// session returns the id of the session of the conversation's next run. It is empty if that run
// begins a session.
func (s *Service) session(ctx context.Context, row *Row) (string, error) {
	at, err := s.place(ctx, row.ID, row.Since)
	if err != nil || row.Since != 0 && !at.Begun {
		return "", err
	}
	return event.SessionID(row.ID, at.Session), nil
}

// ResetConversation makes the next run begin a new session. The log goes on and callers can read
// all of it, but the model sees nothing from before.
func (s *Service) ResetConversation(ctx context.Context, p Principal, id string) (Conversation, error) {
	row, err := s.row(ctx, p, "reset conversation", id)
	if err != nil {
		return Conversation{}, err
	}
	if row, err = s.reset(ctx, row, func(*Row) bool { return true }); err != nil {
		return Conversation{}, err
	}
	return s.conversation(ctx, row)
}

// reset notes the turn at which a new session begins, if still agrees. A run that is admitted at
// the same time belongs to the old session, and the next one begins the new session.
func (s *Service) reset(ctx context.Context, row Row, still func(row *Row) bool) (Row, error) {
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
func (s *Service) settle(ctx context.Context, row *Row) error {
	if row.Since != asked {
		return nil
	}
	settled, err := s.reset(ctx, *row, func(row *Row) bool { return row.Since == asked })
	if err == nil {
		*row = settled
	}
	return err
}
