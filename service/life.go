package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

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
