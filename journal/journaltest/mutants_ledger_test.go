package journaltest

import (
	"context"
	"math"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func (b *bent) UsageLog(ctx context.Context, q journal.LedgerQuery) ([]journal.UsageEntry, error) {
	if b.usage != nil {
		b.usage(&q)
	}
	list, err := b.Memory.UsageLog(ctx, q)
	if b.used != nil {
		list = b.used(list)
	}
	return list, err
}

func (b *bent) ToolLog(ctx context.Context, q journal.LedgerQuery) ([]journal.ToolEntry, error) {
	if b.usage != nil {
		b.usage(&q)
	}
	list, err := b.Memory.ToolLog(ctx, q)
	if b.did != nil {
		list = b.did(list)
	}
	return list, err
}

func (b *bent) UsageSums(
	ctx context.Context, q journal.LedgerQuery, by journal.UsageBy, after *string,
) ([]journal.UsageSum, error) {
	if b.sums != nil {
		return b.sums(ctx, q, by, after)
	}
	return b.Memory.UsageSums(ctx, q, by, after)
}

func (b *bent) AddUsage(ctx context.Context, u journal.UsageEntry) error {
	if b.add != nil {
		b.add(&u)
	}
	return b.Memory.AddUsage(ctx, u)
}

// ledgerMutants are stores whose ledger rows do not match the commits.
func ledgerMutants() []mutant {
	const (
		stands  = "ledger/what a commit used stands there with its run"
		once    = "ledger/a commit that comes again has its rows once"
		refuses = "ledger/a refused commit has no rows"
		where   = "ledger/a tool call is where it stands"
		finds   = "ledger/rows are found by what they are of"
		pages   = "ledger/pages follow each other"
		sums    = "ledger/sums are those of the rows"
		tenant  = "ledger/a tenant sees its own"
		erases  = "ledger/a redaction erases what the ledger repeats"
		removed = "ledger/of a conversation that is removed what was used stays"
		beside  = "ledger/what is used beside a log is added once"
		mended  = "ledger/text that cannot be held is mended"
	)
	query := func(f func(q *journal.LedgerQuery)) func(*bent) { return func(b *bent) { b.usage = f } }
	batch := func(f func(b *journal.Batch)) func(*bent) {
		return func(b *bent) {
			b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
				batch.Tools, batch.Usage = slices.Clone(batch.Tools), slices.Clone(batch.Usage)
				f(&batch)
				return b.Memory.Commit(ctx, l, batch)
			}
		}
	}
	// besides writes the rows in a separate commit if when says so.
	besides := func(when func(b *bent, before int64, l journal.Lease, err error) bool) func(*bent) {
		return func(b *bent) {
			b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
				before := int64(len(b.history(l.Conversation)))
				err := b.Memory.Commit(ctx, l, batch)
				if when(b, before, l, err) {
					for _, held := range b.held() {
						_ = b.Memory.Commit(ctx, held, journal.Batch{Usage: batch.Usage, Tools: batch.Tools})
					}
				}
				return err
			}
		}
	}
	return []mutant{
		{name: "no row knows what it cost", catcher: stands, plant: func(b *bent) {
			b.used = func(list []journal.UsageEntry) []journal.UsageEntry {
				for i := range list {
					list[i].CostNanoUSD = new(int64(0))
				}
				return list
			}
		}},
		{name: "rows of a commit without events are left out", catcher: stands, plant: batch(func(b *journal.Batch) {
			if len(b.Events) == 0 {
				b.Usage = nil
			}
		})},
		{name: "the rows of a repeat are added", catcher: once, plant: besides(
			func(b *bent, before int64, l journal.Lease, err error) bool {
				return err == nil && before > 0 && before == int64(len(b.history(l.Conversation)))
			})},
		{name: "rows are written before the lease is looked at", catcher: refuses, plant: besides(
			func(_ *bent, _ int64, _ journal.Lease, err error) bool { return err != nil })},
		{name: "the end of a tool is a row of its own", catcher: where, plant: batch(func(b *journal.Batch) {
			for i := range b.Tools {
				if b.Tools[i].Status.Ended() {
					b.Tools[i].Step += " ended"
				}
			}
		})},
		{name: "every model is the wanted one", catcher: finds, plant: query(func(q *journal.LedgerQuery) { q.Model = "" })},
		{name: "there is no end of time", catcher: finds, plant: query(func(q *journal.LedgerQuery) { q.To = q.From })},
		{name: "a page ends at a time", catcher: pages, plant: query(func(q *journal.LedgerQuery) {
			if !q.Before.Time.IsZero() {
				q.Before.Key = 0
			}
		})},
		{name: "unknown costs nothing", catcher: sums, plant: func(b *bent) {
			b.sums = func(ctx context.Context, q journal.LedgerQuery, by journal.UsageBy, after *string) ([]journal.UsageSum, error) {
				list, err := b.Memory.UsageSums(ctx, q, by, after)
				for i := range list {
					list[i].Unpriced = 0
				}
				return list, err
			}
		}},
		{name: "a sum that does not fit wraps round", catcher: "ledger/a sum that does not fit is a large number", plant: func(b *bent) {
			b.sums = func(ctx context.Context, q journal.LedgerQuery, by journal.UsageBy, after *string) ([]journal.UsageSum, error) {
				list, err := b.Memory.UsageSums(ctx, q, by, after)
				for i := range list {
					if list[i].Input == math.MaxInt64 {
						list[i].Input = math.MinInt64
					}
				}
				return list, err
			}
		}},
		{name: "tenants see each other", catcher: tenant, plant: query(func(q *journal.LedgerQuery) {
			if q.Tenant == "zeta" {
				q.Tenant = "acme"
			}
		})},
		{name: "the ledger keeps what a redaction erases", catcher: erases, plant: batch(func(b *journal.Batch) {
			for i := range b.Tools {
				b.Tools[i].Asked, b.Tools[i].End = 0, 0
			}
		})},
		{name: "usage goes with its conversation", catcher: removed, plant: func(b *bent) {
			gone := false
			b.remove = func(ctx context.Context, tenant, conversation string) error {
				err := b.Memory.Remove(ctx, tenant, conversation)
				gone = gone || err == nil
				return err
			}
			b.used = func(list []journal.UsageEntry) []journal.UsageEntry {
				if gone {
					return nil
				}
				return list
			}
		}},
		{name: "what is added twice stands there twice", catcher: beside, plant: func(b *bent) {
			n := 0
			b.add = func(u *journal.UsageEntry) { n++; u.Attempt += 10 * n }
		}},
		{name: "bytes are kept as they are", catcher: mended, plant: func(b *bent) {
			b.did = func(list []journal.ToolEntry) []journal.ToolEntry {
				for i := range list {
					if list[i].Name == "a\uFFFD\uFFFDb" {
						list[i].Name = "a\x00\xffb"
					}
				}
				return list
			}
		}},
		{name: "a tool waits for ever", catcher: where, plant: func(b *bent) {
			b.did = func(list []journal.ToolEntry) []journal.ToolEntry {
				for i := range list {
					if list[i].Status == journal.ToolInDoubt {
						list[i].Status = journal.ToolRunning
					}
				}
				return list
			}
		}},
		{name: "usage has the status of its beginning", catcher: stands, plant: func(b *bent) {
			b.used = func(list []journal.UsageEntry) []journal.UsageEntry {
				for i := range list {
					list[i].RunStatus = event.RunRunning
				}
				return list
			}
		}},
	}
}
