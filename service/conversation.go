package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Conversation is a conversation as callers see it.
type Conversation struct {
	Row
	// Status is the status of its oldest open run. It is empty if no run is open.
	Status event.RunStatus
	// Open are its open runs in the order in which they are driven.
	Open []journal.Run
	// SessionID names the part of the log that the model sees. It is empty if the next run begins a
	// new session.
	SessionID string
}

// GetConversation returns a conversation.
func (s *Service) GetConversation(ctx context.Context, p Principal, id string) (Conversation, error) {
	row, err := s.row(ctx, p, "conversation", id)
	if err != nil {
		return Conversation{}, err
	}
	return s.conversation(ctx, row)
}

func (s *conversations) conversation(ctx context.Context, row Row) (Conversation, error) {
	open, err := s.queue(ctx, row.ID)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{Row: row, Open: open}
	if c.SessionID, err = s.session(ctx, &row); err != nil {
		return Conversation{}, err
	}
	if len(open) > 0 {
		c.Status = open[0].Status
	}
	return c, nil
}
