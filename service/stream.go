package service

import (
	"context"

	"github.com/braidrun/braid/live"
)

// Follow follows a conversation from the event after on. The caller must close the follower. It
// returns [event.ErrInvalid] if the log has not reached after.
func (s *Service) Follow(ctx context.Context, p Principal, conversation string, after int64) (*live.Follower, error) {
	f, _, err := s.Attach(ctx, p, conversation, after)
	return f, err
}

// Attach is [Service.Follow] and also reports whether the conversation has a title.
func (s *Service) Attach(ctx context.Context, p Principal, conversation string, after int64) (f *live.Follower, titled bool, err error) {
	const op = "follow"
	row, err := s.row(ctx, p, op, conversation)
	if err != nil {
		return nil, false, err
	}
	if after < 0 {
		return nil, false, invalid(op, "the start is before the beginning of the log", "begin from 0")
	}
	if after > 0 {
		at, err := s.options.Journal.Read(ctx, conversation, after-1, 1)
		if err != nil {
			return nil, false, err
		}
		if len(at) == 0 {
			return nil, false, invalid(op, "the start is after the end of the log", "begin from an event that was sent")
		}
	}
	f, err = s.follow(ctx, row.Key(), live.FollowOptions{After: after})
	return f, row.Title != "", err
}

// CheckEpoch returns [event.ErrInvalid] if no driver of the conversation has had the epoch. A
// position in the stream that names it is not one that was sent.
func (s *Service) CheckEpoch(ctx context.Context, p Principal, conversation string, epoch int64) error {
	const op = "follow"
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return err
	}
	at, err := s.place(ctx, conversation, 0)
	if err != nil || epoch <= at.Epoch {
		return err
	}
	return invalid(op, "the position is not the id of a frame of this stream",
		"send the id of the last frame unchanged, or none to start from the beginning")
}

// Title returns the conversation's title, or "" if it has none. It does not wait for one that is
// being generated.
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
