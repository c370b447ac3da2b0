package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// A conversation's id can be reused: AgentCore's callers choose session ids, and an erased tenant's
// id may be given to a new tenant. Data of a conversation outside its log and row is therefore kept
// by id and life.

// ConversationKey identifies one conversation for good. Life distinguishes conversations that reuse
// one ID.
type ConversationKey struct{ Tenant, ID, Life string }

// topic returns the key under which the conversation's events are published.
func (k ConversationKey) topic() live.Key {
	return live.Key{Tenant: k.Tenant, Conversation: k.ID, Life: k.Life}
}

// Key returns the key of the conversation.
func (r *Row) Key() ConversationKey { return ConversationKey{r.Tenant, r.ID, r.life()} }

type conversationKey struct{}

func withConversation(ctx context.Context, key ConversationKey) context.Context {
	return context.WithValue(ctx, conversationKey{}, key)
}

// ConversationOf returns the conversation of the run that a tool works for. ok is false outside a
// run of a service.
func ConversationOf(ctx context.Context) (key ConversationKey, ok bool) {
	key, ok = ctx.Value(conversationKey{}).(ConversationKey)
	return key, ok
}

// Lives reports whether the conversation still exists, with that life.
func (s *Service) Lives(ctx context.Context, key ConversationKey) (bool, error) {
	row, err := s.options.Rows.Get(ctx, key.Tenant, key.ID)
	switch {
	case errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrGone):
		return false, nil
	case err != nil:
		return false, err
	}
	return row.life() == key.Life, nil
}

// change changes the row of a conversation that was read before. It returns [event.ErrNotFound] if
// another conversation has the id now.
func (s *Service) change(ctx context.Context, key ConversationKey, change func(row *Row) error) (Row, error) {
	return s.options.Rows.Change(ctx, key.Tenant, key.ID, func(row *Row) error {
		if row.life() != key.Life {
			return notFound("conversation", "conversation")
		}
		return change(row)
	})
}

// owner is the tenant of a cached fold.
type owner struct{ tenant, life string }

// keptFold names a cached fold that no run uses.
type keptFold struct {
	owner

	id, conversationLife string
}

// resting lists the cached folds that no run uses.
func (w *foldCache) resting() (list []keptFold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, h := range w.used {
		if o := h.owner.Load(); o != nil && h.drives == 0 {
			list = append(list, keptFold{*o, id, h.life})
		}
	}
	return list
}

// ForgetErased drops the cached folds of tenants that no longer exist or whose id another tenant
// has now. Another process may have erased them.
func (s *Service) ForgetErased(ctx context.Context) error {
	people, there := s.options.Directory, map[owner]bool{}
	if people == nil {
		return nil
	}
	for _, kept := range s.folds.resting() {
		if _, known := there[kept.owner]; !known {
			t, err := people.GetTenant(ctx, kept.tenant)
			if err != nil && !errors.Is(err, event.ErrNotFound) {
				return err
			}
			there[kept.owner] = err == nil && t.Life == kept.life
		}
		if !there[kept.owner] {
			s.folds.forget(kept.id)
		}
	}
	return nil
}

// ForgetDeleted drops the cached folds of conversations that no longer exist or whose id another
// conversation has now. Another process may have deleted them.
func (s *Service) ForgetDeleted(ctx context.Context) error {
	for _, kept := range s.folds.resting() {
		switch there, err := s.Lives(ctx, ConversationKey{kept.tenant, kept.id, kept.conversationLife}); {
		case err != nil:
			return err
		case !there:
			s.folds.forget(kept.id)
		}
	}
	return nil
}
