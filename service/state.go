package service

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// State returns the conversation's state and its version. Keys of the user and of the application
// have their prefix.
func (s *Service) State(ctx context.Context, p Principal, id string) (state map[string]json.RawMessage, version int64, err error) {
	if _, err := s.row(ctx, p, "state", id); err != nil {
		return nil, 0, err
	}
	conv := braid.Open(s.options.Journal, id)
	if version, err = conv.StateVersion(ctx); err != nil {
		return nil, 0, err
	}
	state, err = conv.State(ctx)
	return state, version, err
}

// ChangeState sets and removes values of the conversation's state between runs, as
// [braid.Conversation.ChangeState] does. While a run is open it returns [event.ErrConflict] or
// [event.ErrLocked]. It does not check who may change the keys of the application: the caller must.
func (s *Service) ChangeState(
	ctx context.Context, p Principal, id string, version int64, set map[string]json.RawMessage, remove []string,
) error {
	values := make(map[string]any, len(set))
	for key, value := range set {
		values[key] = value
	}
	var more int64
	for key, value := range set {
		more += int64(len(key) + len(value))
	}
	return s.beside(ctx, "change state", p, id, more, func(conv *braid.Conversation, as braid.SendOption) error {
		return conv.ChangeState(ctx, version, values, remove, as)
	})
}

// Import gives a conversation the messages and the state of another system. The messages begin a new
// session; agent is the author of the model's. While a run is open it returns [event.ErrConflict] or
// [event.ErrLocked].
func (s *Service) Import(
	ctx context.Context, p Principal, id, agent string, messages []event.Message, state map[string]json.RawMessage,
) error {
	in := braid.Snapshot{Schema: 1, Agent: agent, Messages: messages, State: state}
	if len(messages) > 0 {
		in.Fields = append(in.Fields, braid.SnapshotMessages)
	}
	if len(state) > 0 {
		in.Fields = append(in.Fields, braid.SnapshotState)
	}
	if in.Fields == nil {
		return nil
	}
	var more int64
	for i := range messages {
		more += sizeOfBlocks(messages[i].Content)
	}
	for key, value := range state {
		more += int64(len(key) + len(value))
	}
	return s.beside(ctx, "import", p, id, more, func(conv *braid.Conversation, as braid.SendOption) error {
		return conv.Load(ctx, &in, as)
	})
}

// beside writes something of so many bytes into the log, beside its runs.
func (s *Service) beside(
	ctx context.Context, op string, p Principal, id string, more int64, write func(conv *braid.Conversation, as braid.SendOption) error,
) error {
	if err := s.begun(op); err != nil {
		return err
	}
	row, err := s.row(ctx, p, op, id)
	if err != nil {
		return err
	}
	if err := row.takesRuns(op); err != nil {
		return err
	}
	if err := s.quotas.stores(ctx, row.Tenant, more); err != nil {
		return err
	}
	defer s.locks.lock(id)()
	if alive, err := s.Lives(ctx, row.Key()); err != nil || !alive {
		return cmp.Or(err, notFound(op, "conversation"))
	}
	return write(braid.Open(s.options.Journal, id), braid.For(row.Tenant, row.User))
}
