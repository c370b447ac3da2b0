package journaltest

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// eraseMutants are stores that carry out no redactions or too many.
func eraseMutants() []mutant {
	// where replaces the redactions for which instead returns one.
	where := func(b *bent, instead func(r event.Redacted, e *event.Event, batch journal.Batch) *event.Redacted) {
		b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
			batch.Events = slices.Clone(batch.Events)
			for i, e := range batch.Events {
				if r, ok := e.Body.(*event.Redacted); ok {
					other := *e
					other.Body = instead(*r, e, batch)
					batch.Events[i] = &other
				}
			}
			return b.Memory.Commit(ctx, l, batch)
		}
	}
	return []mutant{
		{name: "redactions only hide", catcher: "erase/a redaction erases what it hides", plant: func(b *bent) {
			where(b, func(r event.Redacted, _ *event.Event, _ journal.Batch) *event.Redacted { r.Target = 0; return &r })
		}},
		{name: "redactions do not see their own commit", catcher: "erase/one of the same commit, too", plant: func(b *bent) {
			where(b, func(r event.Redacted, _ *event.Event, batch journal.Batch) *event.Redacted {
				if r.Target >= batch.Events[0].Seq {
					r.Target = 0
				}
				return &r
			})
		}},
		{name: "an erased input is nothing's", catcher: "erase/whoever asks again is still known", plant: func(b *bent) {
			gone := map[string]bool{}
			where(b, func(r event.Redacted, e *event.Event, _ journal.Batch) *event.Redacted {
				gone[e.Conversation] = true
				return &r
			})
			b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				if gone[r.Conversation] {
					r.Input = nil
				}
				return b.Memory.Admit(ctx, r)
			}
		}},
		{name: "a clean one erases nothing", catcher: "erase/what was taken out before leaves the event as it is, and no input", plant: func(b *bent) {
			where(b, func(r event.Redacted, _ *event.Event, _ journal.Batch) *event.Redacted {
				if r.Clean {
					r.Target = 0
				}
				return &r
			})
		}},
		{name: "every redaction erases the input", catcher: "erase/what repeats no input leaves it", plant: func(b *bent) {
			where(b, func(r event.Redacted, _ *event.Event, _ journal.Batch) *event.Redacted {
				if r.Target == 2 {
					r.Target = 1
				}
				return &r
			})
		}},
	}
}
