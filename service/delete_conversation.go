package service

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service/directory"
)

// DeleteConversation removes a conversation with everything in it. It returns [event.ErrLocked]
// while a run is open.
func (s *Service) DeleteConversation(ctx context.Context, p Principal, id string) error {
	return s.remove(ctx, p, id, func(ctx context.Context, tenant, id string, made time.Time) error {
		// First the audit: if it cannot be written, the deletion can be repeated.
		if err := s.record(ctx, p, "conversation.delete", "conversation/"+id); err != nil {
			return err
		}
		return s.options.Rows.Delete(ctx, tenant, id, made)
	})
}

// record adds an entry to the audit of the principal's tenant, if the directory knows the tenant.
func (s *conversations) record(ctx context.Context, p Principal, action, object string) error {
	people := s.options.Directory
	if people == nil {
		return nil
	}
	if _, err := people.Tenant(ctx, p.Tenant); errors.Is(err, event.ErrNotFound) {
		return nil
	}
	by := directory.By{Tenant: p.Tenant, Key: p.Key, User: p.User, Operator: p.May(ScopeOperator)}
	return people.Record(ctx, by, p.Tenant, action, object, nil)
}

// remove removes a conversation with its log and files. row removes its row, as the last step.
func (s *conversations) remove(
	ctx context.Context, p Principal, id string, row func(ctx context.Context, tenant, id string, made time.Time) error,
) error {
	const op = "delete conversation"
	defer s.locks.lock(id)()
	// The id may be reused before this is done: remove only this conversation's data.
	made, err := s.row(ctx, p, op, id)
	if err != nil {
		return err
	}
	// Remove the log first. After a crash there is then a row without a log, which can be deleted
	// again, and not a log without a row. If another process admits a run at the same time, either
	// it wins and the conversation stays, or it is refused.
	if err := s.options.Journal.Tombstone(ctx, p.Tenant, id, made.life()); err != nil && !errors.Is(err, event.ErrNotFound) {
		return err
	}
	s.folds.forget(id)
	if s.workspaces != nil {
		if err := s.workspaces.Remove(ctx, made.Key().files()); err != nil {
			return err
		}
	}
	if s.options.Forget != nil {
		if err := s.options.Forget(ctx, made.Key()); err != nil {
			return err
		}
	}
	if s.options.Webhooks != nil {
		if err := s.options.Webhooks.ForgetConversation(ctx, p.Tenant, id); err != nil {
			return err
		}
	}
	if err := row(ctx, p.Tenant, id, made.Created); err != nil {
		return err
	}
	s.changes.Add(1)
	s.removed.Add(1)
	s.unscrubbed.Store(true)
	s.leave(made.Key().topic())
	return nil
}

// leave makes all followers of a conversation read its log and so find out that it is gone. It
// publishes an event that their log never has.
func (s *conversations) leave(key live.Key) {
	publisher := s.bus.Publisher(key)
	defer publisher.Close()
	publisher.Publish(event.Event{Header: event.Header{Seq: math.MaxInt64}, Body: &event.RunEnded{}})
}
