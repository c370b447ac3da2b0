package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
)

// Changes are changes to a conversation. A nil field changes nothing. An empty metadata value
// removes the key.
type Changes struct {
	Title    *string
	Archived *bool
	Metadata map[string]string
	// User transfers the conversation to that user. Only a principal without a user may set it.
	User *string
	// Reset makes the next run begin a new session, as [Service.ResetConversation] does.
	Reset bool
}

// UpdateConversation renames, archives, labels, transfers or resets a conversation.
func (s *Service) UpdateConversation(ctx context.Context, p Principal, id string, c Changes) (Conversation, error) {
	const op = "update conversation"
	found, err := s.row(ctx, p, op, id)
	if err != nil {
		return Conversation{}, err
	}
	if c.Title != nil {
		if err := checkTitle(op, *c.Title); err != nil {
			return Conversation{}, err
		}
	}
	if c.User != nil {
		if p.User != "" {
			return Conversation{}, &event.Error{
				Op: op, Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot hand conversations over",
				Hint: "use a key without a user",
			}
		}
		if *c.User != "" {
			if err := checkUser(op, *c.User); err != nil {
				return Conversation{}, err
			}
		}
	}
	since := 0
	if c.Reset {
		at, err := s.place(ctx, id, 0)
		if err != nil {
			return Conversation{}, err
		}
		since = at.Turns + 1
	}
	row, err := s.change(ctx, found.Key(), func(row *Row) error {
		if since > 0 {
			row.Since = since
		}
		if c.User != nil {
			row.User = *c.User
		}
		if c.Title != nil {
			row.Title = *c.Title
		}
		if c.Archived != nil {
			row.Archived = *c.Archived
		}
		for k, v := range c.Metadata {
			if v == "" {
				delete(row.Metadata, k)
				continue
			}
			if row.Metadata == nil {
				row.Metadata = make(map[string]string)
			}
			row.Metadata[k] = v
		}
		row.Updated = time.Now().UTC().Truncate(time.Microsecond)
		return checkMetadata(op, row.Metadata)
	})
	if err != nil {
		return Conversation{}, err
	}
	s.changes.Add(1)
	s.folds.retitled(id)
	return s.conversation(ctx, row)
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
