package journal

import "context"

// Remover removes whole conversations, for people who want their words gone.
type Remover interface {
	// Remove removes a tenant's conversation: its log, runs, mail and own state.
	// "app:" and "user:" state belongs to others and stays. ErrLocked while a run of
	// it is open; ErrNotFound for one that the tenant does not have. What a
	// store has written may stay on its disk until the space is used again.
	Remove(ctx context.Context, tenant, conversation string) error
}
