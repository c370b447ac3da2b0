package service

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// inputBytes is how long a run's input is; it is noted where it is worth counting.
func inputBytes(run *journal.Run) int64 {
	n, err := strconv.ParseInt(run.Metadata[keyBytes], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// noteInput notes how long the input is, for those who drive the run.
func noteInput(metadata map[string]string, content []event.Block) {
	if n := sizeOfBlocks(content); n > freeBytes {
		metadata[keyBytes] = strconv.FormatInt(n, 10)
	}
}

// weigh is about how many bytes the conversation of a run holds before it. known says that its fold is in memory.
func (s *Service) weigh(ctx context.Context, run *journal.Run) (bytes int64, known bool, err error) {
	if bytes, known = s.warm.find(run.Conversation, run.Metadata[keyLife]); known || run.Turn == 1 {
		return bytes, known, nil
	}
	bytes, err = s.options.Journal.Weigh(ctx, run.Conversation)
	return bytes, false, err
}

// reweigh looks how much a conversation holds that was made shorter. Where that fails it counts for more than it is.
func (s *Service) reweigh(ctx context.Context, h *warmth, conversation string) {
	if bytes, err := s.options.Journal.Weigh(ctx, conversation); err == nil {
		h.bytes.Store(bytes)
	}
}

// fits refuses a run whose conversation, with its input, is larger than the server can work on.
func (s *Service) fits(ctx context.Context, in *entry) error {
	bytes, known := s.warm.find(in.row.ID, in.row.life())
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
