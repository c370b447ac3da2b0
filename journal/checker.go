package journal

import "context"

// Checker is a [Store] that can say whether it would take a commit now. Whoever directs requests to a process asks it.
type Checker interface {
	// Check returns nil if the store takes commits as far as it knows. Otherwise its error has the kind that commits would get:
	// ErrStorageFull without space, ErrUnavailable for a database that cannot be reached or can only be read.
	Check(ctx context.Context) error
}
