package sqlite

import "context"

// Check implements [journal.Catalog]. It does not read the file: a commit reports a full or
// missing disk itself.
func (s *Store) Check(ctx context.Context) error { return alive(ctx, "journal check") }
