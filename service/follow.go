package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// quietPoll is how often a quiet stream reads the journal if only this process drives runs: the bus
// then carries every event.
const quietPoll = 30 * time.Second

// follow follows a conversation that the caller may read.
func (s *conversations) follow(ctx context.Context, key ConversationKey, o live.FollowOptions) (*live.Follower, error) {
	switch {
	case s.alone:
		o.Poll = quietPoll
	case s.poller != nil:
		o.Poll, o.Beyond = sharedPoll, s.poller.beyond(key.ID)
	}
	view := s.view(key.ID)
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		events, err := view.read(ctx, after, limit)
		if err != nil || !s.options.Shared && s.removed.Load() == 0 {
			return events, err
		}
		// End the stream if the conversation is gone. Never show another conversation that has its id now.
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
