package service

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// HeldTokens is how many runs there are tokens for.
func (s *Service) HeldTokens() int {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	return len(s.tokens.runs)
}

// WarmFolds is how many conversations are kept warm.
func (s *Service) WarmFolds() int {
	s.warm.mu.Lock()
	defer s.warm.mu.Unlock()
	return len(s.warm.used)
}

// OpenDoors is how many conversations have somebody on the way in.
func (s *Service) OpenDoors() int {
	s.doors.mu.Lock()
	defer s.doors.mu.Unlock()
	return len(s.doors.used)
}

// Unsettle leaves a conversation as an earlier version left one that was reset.
func (s *Service) Unsettle(ctx context.Context, p Principal, conversation string) error {
	_, err := s.options.Rows.Change(ctx, p.Tenant, conversation, func(row *Row) error {
		row.Since = asked
		return nil
	})
	s.changes.Add(1)
	return err
}

// CleanTitle is what becomes of what a model says.
var CleanTitle = cleanTitle

// NewOwnPurse is the purse of a process that shares its database with none.
func NewOwnPurse() *ownPurse { return &ownPurse{ledger: &journal.Memory{}} }

// PreparedAgents is how many agents are kept for runs that were not driven yet.
func (s *Service) PreparedAgents() int {
	s.prepared.mu.Lock()
	defer s.prepared.mu.Unlock()
	return len(s.prepared.runs)
}
