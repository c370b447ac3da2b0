package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// weigh returns the approximate size of a run's conversation before the run. known reports that its
// fold is in memory.
func (s *conversations) weigh(ctx context.Context, run *journal.Run) (bytes int64, known bool, err error) {
	if bytes, known = s.folds.find(run.Conversation, run.Metadata[keyLife]); known || run.Turn == 1 {
		return bytes, known, nil
	}
	bytes, err = s.options.Journal.Weigh(ctx, run.Conversation)
	return bytes, false, err
}

// reweigh measures a compacted conversation again. If that fails it counts for more than it holds.
func (s *conversations) reweigh(ctx context.Context, h *cachedFold, conversation string) {
	if bytes, err := s.options.Journal.Weigh(ctx, conversation); err == nil {
		h.bytes.Store(bytes)
	}
}

// fits refuses a run whose conversation and input are together larger than the server can work on.
func (s *conversations) fits(ctx context.Context, in *admission) error {
	bytes, known := s.folds.find(in.row.ID, in.row.life())
	if !known && in.after > 0 {
		var err error
		if bytes, err = s.options.Journal.Weigh(ctx, in.row.ID); err != nil {
			return err
		}
	}
	if bytes+inputBytes(&in.run) <= s.memory.most {
		return nil
	}
	return &event.Error{
		Op: "start run", Kind: event.ErrTooLarge, Code: "CONVERSATION_TOO_LARGE", Message: "the conversation holds more than the server can work on",
		Hint: "reset it to begin a new session, or begin another conversation",
	}
}
