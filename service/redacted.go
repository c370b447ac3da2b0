package service

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// redactedPage is how many events are read at a time to find what is redacted.
const redactedPage = 256

// view reads a conversation's log as it may be shown: an event that a later one redacts has
// what stands in its place. A guardrail redacts in the run of what it takes back, and what a
// person or an agent was asked alone, so that the log is read no further than to the end
// of such a run, and not at all where there is none in the page. A view keeps what
// it has found, so that one that goes on reading does not look twice. It is used by
// one goroutine at a time.
type view struct {
	store        journal.Store
	conversation string
	hidden       map[int64]*event.Redacted
	// seen is the last event that was looked at.
	seen int64
}

// read gives the events after one, at most limit; 0 means all.
func (v *view) read(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
	events, err := v.store.Read(ctx, v.conversation, after, limit)
	if err != nil || len(events) == 0 {
		return events, err
	}
	asks := false // whether the run at the page's end was asked in it
	for _, e := range events {
		v.note(e)
		switch e.Body.(type) {
		case *event.UserMessage, *event.ScopeOpened:
			asks = true
		case *event.RunEnded:
			asks = false
		}
	}
	if asks && limit > 0 && len(events) == limit {
		if err := v.ahead(ctx); err != nil {
			return nil, err
		}
	}
	if len(v.hidden) == 0 {
		return events, nil
	}
	shown := make([]*event.Event, len(events))
	for i, e := range events {
		if shown[i] = e; v.hidden[e.Seq] != nil {
			shown[i] = v.hidden[e.Seq].Cover(e)
		}
	}
	return shown, nil
}

// ahead looks on to the end of the run.
func (v *view) ahead(ctx context.Context) error {
	for {
		events, err := v.store.Read(ctx, v.conversation, v.seen, redactedPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			v.note(e)
			if _, ok := e.Body.(*event.RunEnded); ok {
				return nil
			}
		}
		if len(events) < redactedPage {
			return nil
		}
	}
}

func (v *view) note(e *event.Event) {
	v.seen = max(v.seen, e.Seq)
	if r, ok := e.Body.(*event.Redacted); ok {
		if v.hidden == nil {
			v.hidden = map[int64]*event.Redacted{}
		}
		v.hidden[r.Target] = r
	}
}

// all gives the whole log.
func (v *view) all(ctx context.Context) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		for after := int64(0); ; {
			events, err := v.read(ctx, after, redactedPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(events) < redactedPage {
				return
			}
		}
	}
}

// view is a reader of a conversation's log for those who may read it.
func (s *Service) view(conversation string) *view {
	return &view{store: s.options.Journal, conversation: conversation}
}
