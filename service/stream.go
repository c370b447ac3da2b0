package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// Follow follows a conversation from the event after on. The follower must be closed.
// An after that the log has not reached is [event.ErrInvalid].
func (s *Service) Follow(ctx context.Context, p Principal, conversation string, after int64) (*live.Follower, error) {
	f, _, err := s.Attach(ctx, p, conversation, after)
	return f, err
}

// Attach is [Service.Follow], and tells whether the conversation has a title.
func (s *Service) Attach(ctx context.Context, p Principal, conversation string, after int64) (f *live.Follower, titled bool, err error) {
	const op = "follow"
	row, err := s.row(ctx, p, op, conversation)
	if err != nil {
		return nil, false, err
	}
	if after < 0 {
		return nil, false, invalid(op, "the place to begin from is before the beginning", "begin from 0")
	}
	if after > 0 {
		at, err := s.options.Journal.Read(ctx, conversation, after-1, 1)
		if err != nil {
			return nil, false, err
		}
		if len(at) == 0 {
			return nil, false, invalid(op, "the place to begin from is after the end", "begin from an event that was sent")
		}
	}
	f, err = s.follow(ctx, row.Key(), live.FollowOptions{After: after})
	return f, row.Title != "", err
}

// CheckEpoch refuses a place in the stream that no driver of the conversation has made: its live part names
// an epoch that there has not been. The error is [event.ErrInvalid].
func (s *Service) CheckEpoch(ctx context.Context, p Principal, conversation string, epoch int64) error {
	const op = "follow"
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return err
	}
	at, err := s.place(ctx, conversation, 0)
	if err != nil || epoch <= at.Epoch {
		return err
	}
	return invalid(op, "the place in the stream is not one that a frame had as its id",
		"send the id of the last frame as it came, or none to begin at the beginning")
}

// quietPoll is how often a quiet stream asks the journal where all runs are driven in this
// process: what is committed here is told here.
const quietPoll = 30 * time.Second

// follow follows a conversation that the caller may read.
func (s *Service) follow(ctx context.Context, key ConversationKey, o live.FollowOptions) (*live.Follower, error) {
	switch {
	case s.alone:
		o.Poll = quietPoll
	case s.heads != nil:
		o.Poll, o.Beyond = sharedPoll, s.heads.beyond(key.ID)
	}
	view := s.view(key.ID)
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		events, err := view.read(ctx, after, limit)
		if err != nil || !s.options.Shared && s.removed.Load() == 0 {
			return events, err
		}
		// Nobody waits for a conversation that is gone, or reads what another one says that has its id by now.
		row, err := s.options.Rows.Get(ctx, key.Tenant, key.ID)
		if err == nil && row.life() != key.Life {
			err = notFound("follow", "conversation")
		}
		if err != nil {
			return nil, err
		}
		return events, nil
	}
	o.More = func() bool { return view.more }
	return live.Follow(ctx, s.bus, key.topic(), log, o)
}

// Title gives the conversation's title; "" if it has none. It does not wait for one that is being made.
func (s *Service) Title(ctx context.Context, p Principal, conversation string) (string, error) {
	row, err := s.row(ctx, p, "title", conversation)
	if err != nil || row.Title != "" {
		return row.Title, err
	}
	if s.titles.asks() {
		return "", nil
	}
	return s.titles.firstWords(ctx, &ExecutionContext{Principal: p, Conversation: conversation, ConversationLife: row.life()})
}

func (s *Service) firstWords(ctx context.Context, conversation string) (string, error) {
	events, err := s.view(conversation).read(ctx, 0, 64)
	if err != nil {
		return "", err
	}
	for _, e := range events {
		if b, ok := e.Body.(*event.UserMessage); ok {
			if t := shorten(event.TextOf(b.Content)); t != "" {
				return t, nil
			}
		}
	}
	return "", nil
}
