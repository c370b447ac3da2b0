package sqlite

import "context"

// Scrub implements [journal.Catalog]. It removes unreachable blobs. Then it copies the
// write-ahead log, which holds pages from before a removal, into the file and truncates it. In
// the file, secure_delete has overwritten removed data.
func (s *Store) Scrub(ctx context.Context) error {
	const op = "journal scrub"
	if err := s.Blobs().Sweep(ctx); err != nil {
		return err
	}
	var scrubbed error
	err := s.write(ctx, op, false, func(x *tx) error {
		x.scrubs = append(x.scrubs, &scrubbed)
		return nil
	})
	if err == nil {
		err = fault(op, scrubbed)
	}
	return err
}
