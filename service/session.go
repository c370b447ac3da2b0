package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// asked is a [Row].Since of a reset from before turns were noted.
const asked = -1

// place tells how far a conversation has come.
func (s *Service) place(ctx context.Context, conversation string, since int) (journal.Place, error) {
	return s.options.Journal.Place(ctx, conversation, since)
}

// session is the id of the session that the conversation's next run belongs to; empty where
// that run begins one.
func (s *Service) session(ctx context.Context, row *Row) (string, error) {
	at, err := s.place(ctx, row.ID, row.Since)
	if err != nil || row.Since != 0 && !at.Begun {
		return "", err
	}
	return event.SessionID(row.ID, at.Session), nil
}

// ResetConversation has the next run begin a new session: the log goes on, people read all
// of it, and the model sees nothing of what was before.
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

// reset notes from which turn on a run is to begin a session, where it is still to be noted. A
// run that is admitted meanwhile does not know of it, and the one behind it begins it.
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

// settle notes the turn of a reset from before turns were noted.
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
