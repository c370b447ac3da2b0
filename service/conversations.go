package service

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/workspace"
)

// conversations has the conversations of all tenants: their rows and logs, their folds in memory and
// their followers. Its methods read and change them. It has no engine: only [Service], which embeds
// it, can accept, drive or stop a run.
type conversations struct {
	options Options
	log     *slog.Logger
	// memory also counts the request bodies of the server.
	memory *Memory
	bus    live.Bus
	// alone reports that no other process drives runs, so that the bus carries every event.
	alone bool
	// poller asks the journal what other processes have committed. It is nil if there are none.
	poller *headPoller
	folds  foldCache
	locks  conversationLocks
	// changes counts the changes to conversations that a run must know of while it is being admitted.
	changes atomic.Int64
	// removed counts the removed conversations.
	removed atomic.Int64
	// workspaces store the files of conversations. nil means that there are none.
	workspaces workspace.Backend
	// unscrubbed reports that files may hold deleted or redacted data.
	unscrubbed atomic.Bool
}

// queue returns the open runs of a conversation in their order.
func (s *conversations) queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	return s.options.Journal.Queue(ctx, conversation)
}

// head returns an open run's row.
func (s *conversations) head(ctx context.Context, conversation, run string) (journal.Run, error) {
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	for i := range open {
		if open[i].ID == run {
			return open[i], nil
		}
	}
	return journal.Run{}, &event.Error{Op: "drive", Kind: event.ErrConflict, Message: "the run has ended"}
}

// view returns a reader of a conversation's log for callers.
func (s *conversations) view(conversation string) *view {
	return &view{store: s.options.Journal, conversation: conversation}
}

// change changes the row of a conversation that was read before. It returns [event.ErrNotFound] if
// another conversation has the id now.
func (s *conversations) change(ctx context.Context, key ConversationKey, change func(row *Row) error) (Row, error) {
	return s.options.Rows.Change(ctx, key.Tenant, key.ID, func(row *Row) error {
		if row.life() != key.Life {
			return notFound("conversation", "conversation")
		}
		return change(row)
	})
}
