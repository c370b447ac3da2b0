package journaltest

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// StoredBytes returns the memory store's count, changed by a planted bug.
func (b *bent) StoredBytes(ctx context.Context, tenant string) (int64, error) {
	n, err := b.Memory.StoredBytes(ctx, tenant)
	if b.counts != nil && (err == nil || b.blind) {
		n, err = b.counts(tenant, n), nil
	}
	return n, err
}

// storageMutants count the tenants' bytes incorrectly.
func storageMutants() []mutant {
	in := func(name string) string { return "storage/" + name }
	const (
		commits  = "commits add what they write, once"
		inputs   = "inputs and mail count while they are there"
		left     = "mail that nobody has read goes on to count once"
		redacted = "what a redaction erases counts no more"
		rows     = "rows of tools and messages count as they are"
		removed  = "what is removed counts no more"
		anew     = "a tenant that is made anew holds nothing"
		waits    = "a run that waits is counted"
		vain     = "what is asked in vain"
	)
	// never only lets a count grow and ignores what is released.
	never := func(b *bent) {
		most := map[string]int64{}
		b.counts = func(tenant string, n int64) int64 {
			b.mu.Lock()
			defer b.mu.Unlock()
			most[tenant] = max(most[tenant], n)
			return most[tenant]
		}
	}
	return []mutant{
		{name: "nothing is counted", catcher: in(commits), plant: func(b *bent) { b.counts = func(string, int64) int64 { return 0 } }},
		{name: "repeats are counted again", catcher: in(commits), plant: func(b *bent) {
			more := map[string]int64{}
			seen := map[int64]bool{}
			b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
				err := b.Memory.Commit(ctx, l, batch)
				b.mu.Lock()
				defer b.mu.Unlock()
				if err == nil && len(batch.Events) > 0 {
					if seen[batch.Events[0].Seq] {
						more["acme"] += large
					}
					seen[batch.Events[0].Seq] = true
				}
				return err
			}
			b.counts = func(tenant string, n int64) int64 {
				b.mu.Lock()
				defer b.mu.Unlock()
				return n + more[tenant]
			}
		}},
		{name: "mail that was read still counts", catcher: in(inputs), plant: never},
		{name: "mail that is left counts twice", catcher: in(left), plant: never},
		{name: "erased texts still count", catcher: in(redacted), plant: never},
		{name: "rows only grow", catcher: in(rows), plant: never},
		{name: "removed conversations still count", catcher: in(removed), plant: never},
		{name: "a removed tenant's bytes stay", catcher: in(anew), plant: never},
		{name: "a waiting run is not counted", catcher: in(waits), plant: func(b *bent) {
			waiting := false
			b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
				b.mu.Lock()
				waiting = batch.Status == event.RunWaiting
				b.mu.Unlock()
				return b.Memory.Commit(ctx, l, batch)
			}
			b.counts = func(_ string, n int64) int64 {
				b.mu.Lock()
				defer b.mu.Unlock()
				if waiting {
					return 0
				}
				return n
			}
		}},
		{name: "nobody looks at the context", catcher: in(vain), plant: func(b *bent) {
			b.blind, b.counts = true, func(_ string, n int64) int64 { return n }
		}},
		{name: "commits are not counted, inputs are", catcher: in(removed), plant: func(b *bent) {
			b.counts = func(_ string, n int64) int64 { return min(n, slack) }
		}},
		{name: "every tenant's bytes are everybody's", catcher: in(anew), plant: func(b *bent) {
			b.counts = func(_ string, n int64) int64 {
				var all int64
				for _, tenant := range []string{"acme", "else"} {
					one, _ := b.Memory.StoredBytes(context.Background(), tenant)
					all += one
				}
				return max(n, all)
			}
		}},
	}
}
