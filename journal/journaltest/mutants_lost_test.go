package journaltest

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func lostMutants() []mutant {
	const (
		counts = "lost/a lease that was not given back is a lost driver"
		given  = "lost/a lease that was given back is none"
		resets = "lost/what gets the run on sets the count back"
		begins = "lost/what only begins anew does not"
		again  = "lost/a tool that the model calls again each time does not"
		own    = "lost/the count is the run's own"
	)
	taken := func(change func(b *bent, o *journal.Opened)) func(b *bent) {
		return func(b *bent) {
			b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
				o, err := b.Memory.Acquire(ctx, run, have)
				if err == nil {
					b.mu.Lock()
					defer b.mu.Unlock()
					change(b, &o)
				}
				return o, err
			}
		}
	}
	// counting keeps its own count. The bug is in its key or in what resets it.
	counting := func(key func(*journal.Opened) string, back func(journal.Batch) bool) func(b *bent) {
		return func(b *bent) {
			count := map[string]int{}
			held := map[string]bool{}
			keys := map[string]string{}
			taken(func(_ *bent, o *journal.Opened) {
				k := key(o)
				if held[o.Run.Conversation] {
					count[k]++
				}
				held[o.Run.Conversation], keys[o.Run.ID] = true, k
				o.Run.Lost = count[k]
			})(b)
			b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
				err := b.Memory.Commit(ctx, l, batch)
				if err == nil {
					b.mu.Lock()
					defer b.mu.Unlock()
					held[l.Conversation] = held[l.Conversation] && !batch.GivesBack()
					if back(batch) {
						count[keys[l.Run]] = 0
					}
				}
				return err
			}
		}
	}
	run := func(o *journal.Opened) string { return o.Run.ID }
	return []mutant{
		{name: "nothing is counted", catcher: counts, plant: taken(func(_ *bent, o *journal.Opened) { o.Run.Lost = 0 })},
		{name: "each drive is counted", catcher: given, plant: taken(func(_ *bent, o *journal.Opened) { o.Run.Lost = int(o.Lease.Epoch) - 1 })},
		{name: "the count never goes back", catcher: resets, plant: counting(run, func(journal.Batch) bool { return false })},
		{name: "each commit sets the count back", catcher: begins, plant: counting(run, func(b journal.Batch) bool { return len(b.Events) > 0 })},
		{name: "a call in doubt sets the count back", catcher: again, plant: counting(run, func(b journal.Batch) bool {
			return journal.Progresses(b.Events) || slices.ContainsFunc(b.Events, func(e *event.Event) bool {
				end, ok := e.Body.(*event.StepEnded)
				return ok && end.Outcome == event.OutcomeInDoubt
			})
		})},
		{
			name: "the count is the conversation's", catcher: own,
			plant: counting(func(o *journal.Opened) string { return o.Run.Conversation }, func(b journal.Batch) bool {
				return journal.Progresses(b.Events) && b.Status != event.RunFailed
			}),
		},
	}
}
