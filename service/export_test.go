package service

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// HeldTokens returns the number of runs with tokens.
func (s *Service) HeldTokens() int {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	return len(s.tokens.runs)
}

// CachedFolds returns the number of cached folds.
func (s *Service) CachedFolds() int {
	s.folds.mu.Lock()
	defer s.folds.mu.Unlock()
	return len(s.folds.used)
}

// HeldLocks returns the number of conversations with a request that is being admitted.
func (s *Service) HeldLocks() int {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	return len(s.locks.used)
}

// Unsettle resets a conversation as a version did that did not note turns.
func (s *Service) Unsettle(ctx context.Context, p Principal, conversation string) error {
	_, err := s.options.Rows.Change(ctx, p.Tenant, conversation, func(row *Row) error {
		row.Since = asked
		return nil
	})
	s.changes.Add(1)
	return err
}

// CleanTitle is cleanTitle.
var CleanTitle = cleanTitle

// NewLocalSpend returns the spend store of a process with its own database.
func NewLocalSpend() *localSpend { return &localSpend{ledger: &journal.Memory{}} }

// PreparedAgents returns the number of agents that are kept for runs that were not driven yet.
func (s *Service) PreparedAgents() int {
	s.prepared.mu.Lock()
	defer s.prepared.mu.Unlock()
	return len(s.prepared.runs)
}
