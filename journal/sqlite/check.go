package sqlite

import "context"

// Check implements [journal.Catalog]. It asks the file nothing: a commit that finds no space or no disk says so itself.
func (s *Store) Check(ctx context.Context) error { return alive(ctx, "journal check") }
