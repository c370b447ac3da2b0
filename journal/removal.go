package journal

import (
	"context"
	"time"
)

// Remover removes whole conversations, for people who want their words gone.
type Remover interface {
	// Remove removes a tenant's conversation: its log, runs, mail and own state.
	// "app:" and "user:" state belongs to others and stays. ErrLocked while a run of
	// it is open; ErrNotFound for one that the tenant does not have. What a
	// store has written may stay on its disk until the space is used again. Of a [Ledger]
	// the rows of tools go, and those of usage stay: they are money, and hold no words.
	Remove(ctx context.Context, tenant, conversation string) error
}

// Burier removes whole conversations for good: what is on its way to one of them comes too late, from
// whichever process.
type Burier interface {
	// Bury does what [Remover] does, and refuses every later run of this [Run].Life with ErrNotFound, for
	// [BuriedFor]. One that the store does not have is buried as well; one that another tenant has is
	// ErrNotFound. A life that is buried stays so, and what has its conversation's name by now stays, too.
	// An admission at the same time comes before it, and then a run is open (ErrLocked), or after it.
	Bury(ctx context.Context, tenant, conversation, life string) error
}

// BuriedFor is how long a [Burier] knows of what it has buried, at least: much longer than any request is
// on its way.
const BuriedFor = 24 * time.Hour

// TenantRemover removes all that a tenant has.
type TenantRemover interface {
	// RemoveTenant removes a tenant's conversations, as [Remover] does, its state, and what its runs used. A
	// tenant that has nothing is removed already. ErrLocked while a run of it is open: the other
	// conversations may be gone then. It may take long, and is done in parts; one that was cut
	// off is called again.
	RemoveTenant(ctx context.Context, tenant string) error
}

// Scrubber takes what was removed out of a store's files.
type Scrubber interface {
	// Scrub removes from the store's files what removals and redactions before it have taken out, such as
	// older pages in a write-ahead log. Writers wait for it, at most for a moment: if a reader is in the way,
	// Scrub gives up with ErrLocked, and is called again later.
	Scrub(ctx context.Context) error
}
