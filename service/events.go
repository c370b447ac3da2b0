package service

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
)

// Events returns events of the log after a Seq, with redacted events replaced. It does not hide
// internal events: the caller must. It returns at most limit events, or fewer if they are large,
// and none at the end. A limit of 0 means all.
func (s *Service) Events(ctx context.Context, p Principal, id string, after int64, limit int) ([]*event.Event, error) {
	events, _, err := s.EventPage(ctx, p, id, after, limit)
	return events, err
}

// EventPage is [Service.Events] and also reports whether more events follow the page.
func (s *Service) EventPage(ctx context.Context, p Principal, id string, after int64, limit int) (events []*event.Event, more bool, err error) {
	if _, err := s.row(ctx, p, "events", id); err != nil {
		return nil, false, err
	}
	v := s.view(id)
	events, err = v.read(ctx, after, limit)
	return events, v.more, err
}

// Export returns the whole log, with redacted events replaced.
func (s *Service) Export(ctx context.Context, p Principal, id string) (iter.Seq2[*event.Event, error], error) {
	if _, err := s.row(ctx, p, "export", id); err != nil {
		return nil, err
	}
	return s.view(id).all(ctx), nil
}
