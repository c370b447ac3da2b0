package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

// scrubber is implemented by stores whose files keep deleted data for a while.
type scrubber interface {
	Scrub(ctx context.Context) error
}

// Scrub removes deleted and redacted data from the files of the journal and the rows. If it returns
// nil nothing of that data is left in them. [event.ErrLocked] means that a reader was in the way.
func (s *Service) Scrub(ctx context.Context) error {
	s.unscrubbed.Store(false)
	errs := []error{s.options.Journal.Scrub(ctx)}
	if rows, ok := s.options.Rows.(scrubber); ok {
		errs = append(errs, rows.Scrub(ctx))
	}
	err := errors.Join(errs...)
	if err != nil {
		s.unscrubbed.Store(true)
	}
	return err
}

// Deleted records that something was deleted in the rows' database.
func (s *Service) Deleted() { s.unscrubbed.Store(true) }

// ScrubSoon calls [Service.Scrub] if something was deleted or redacted since the last time. Call it
// every few seconds, so that many deletions cost one scrub.
func (s *Service) ScrubSoon(ctx context.Context) error {
	if !s.unscrubbed.Load() {
		return nil
	}
	if err := s.Scrub(ctx); !errors.Is(err, event.ErrLocked) {
		return err
	}
	return nil // the next call tries again
}
