package journal

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
)

// These bound a page of [RunEvents].
const (
	runPage      = 512
	runPageBytes = 1 << 20
)

// RunEvents reads the events of a run in pages, in their order, and nothing that precedes the run. A run without
// [Run].First has none. The iteration ends after the first error.
func RunEvents(ctx context.Context, s Store, run *Run) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		for at, more := run.First-1, run.First > 0; more; {
			var events []*event.Event
			var err error
			if events, more, err = s.ReadPage(ctx, run.Conversation, at, runPage, runPageBytes); err != nil {
				yield(nil, err)
				return
			}
			for _, e := range events {
				if at = e.Seq; e.Run == run.ID && !yield(e, nil) {
					return
				}
			}
		}
	}
}
