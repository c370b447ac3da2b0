package journaltest

import (
	"context"

	"github.com/braidrun/braid/journal"
)

// Propose returns the sound store's proposal, or a planted bug's.
func (b *bent) Propose(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
	return b.begins.Propose(ctx, r, at)
}

// Begin begins a run as the sound store does, or as a planted bug does.
func (b *bent) Begin(ctx context.Context, r journal.Run, o *journal.Opened, batch journal.Batch) error {
	return b.begins.Begin(ctx, r, o, batch)
}

func beginMutants() []mutant {
	const (
		nothing   = "begin/a proposal changes nothing"
		begins    = "begin/a run begins as if it was admitted, acquired and committed"
		elsewhere = "begin/a run that would be elsewhere is refused, and nothing is written"
		behind    = "begin/a run behind an open one is refused"
		exists    = "begin/a run that exists is refused, also by its key"
		foreign   = "begin/another tenant's conversation is not found"
		refused   = "begin/a batch that is refused begins nothing"
		shared    = "begin/a proposal has the state that is shared"
	)
	finds := func(change func(f *found, at journal.Place)) func(*bent) {
		return func(b *bent) { b.begins.bugs.found = change }
	}
	// writes changes what the sound store writes.
	writes := func(b *bent, change func(r *journal.Run, batch *journal.Batch)) {
		b.begins.bugs.write = func(ctx context.Context, r journal.Run, o *journal.Opened, batch journal.Batch) error {
			change(&r, &batch)
			return b.begins.write(ctx, r, o, batch)
		}
	}
	return []mutant{
		{name: "a proposal admits the run", catcher: nothing, plant: func(b *bent) {
			b.begins.bugs.propose = func(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
				if _, err := b.Memory.Admit(ctx, r); err != nil {
					return journal.Opened{}, err
				}
				return b.begins.propose(ctx, r, at)
			}
		}},
		{name: "a proposal takes the lease", catcher: nothing, plant: func(b *bent) {
			b.begins.bugs.propose = func(ctx context.Context, r journal.Run, _ journal.Place) (journal.Opened, error) {
				if _, err := b.Memory.Admit(ctx, r); err != nil {
					return journal.Opened{}, err
				}
				return b.Memory.Acquire(ctx, r.ID, 0)
			}
		}},
		{name: "a begun run has no labels", catcher: begins, plant: func(b *bent) {
			writes(b, func(r *journal.Run, _ *journal.Batch) { r.Metadata = nil })
		}},
		{name: "a begun run has no events", catcher: begins, plant: func(b *bent) {
			writes(b, func(_ *journal.Run, batch *journal.Batch) { batch.Events = nil })
		}},
		{name: "a begun run has no lease", catcher: begins, plant: func(b *bent) {
			writes(b, func(_ *journal.Run, batch *journal.Batch) { batch.Release = true })
		}},
		{name: "a run begins at any turn", catcher: elsewhere, plant: finds(func(f *found, at journal.Place) { f.at.Turn = at.Turn })},
		{name: "a run begins at any end of the log", catcher: elsewhere, plant: finds(func(f *found, at journal.Place) { f.at.Last = at.Last })},
		{name: "a run begins with any epoch", catcher: elsewhere, plant: finds(func(f *found, at journal.Place) { f.at.Epoch = at.Epoch })},
		{name: "a refused run waits behind the open one", catcher: behind, plant: finds(func(f *found, _ journal.Place) { f.open = false })},
		{name: "an open run begins again", catcher: exists, plant: finds(func(f *found, at journal.Place) {
			f.sameID, f.sameKey, f.open, f.at = false, false, false, at
		})},
		{name: "a run begins with a used key", catcher: exists, plant: func(b *bent) {
			b.begins.bugs.found = func(f *found, _ journal.Place) { f.sameKey = false }
			writes(b, func(r *journal.Run, _ *journal.Batch) { r.Key = "" })
		}},
		{name: "a run begins in another tenant's conversation", catcher: foreign, plant: func(b *bent) {
			b.begins.bugs.found = func(f *found, _ journal.Place) { f.foreign, f.sameKey = false, false }
			writes(b, func(r *journal.Run, _ *journal.Batch) { r.Tenant, r.Key = "acme", "" })
		}},
		{name: "another tenant's conversation has gone on", catcher: foreign, plant: finds(func(f *found, _ journal.Place) {
			f.foreign, f.sameKey, f.at.Turn = false, false, 0
		})},
		{name: "a refused batch leaves a queued run", catcher: refused, plant: func(b *bent) {
			b.begins.bugs.found = func(f *found, _ journal.Place) { f.batch = nil }
			b.begins.bugs.write = func(ctx context.Context, r journal.Run, o *journal.Opened, batch journal.Batch) error {
				if _, err := b.Memory.Admit(ctx, r); err != nil {
					return err
				}
				if _, err := journal.FollowSteps("begin", nil, batch.Events); err != nil {
					return err
				}
				return b.begins.write(ctx, r, o, batch)
			}
		}},
		{name: "a refused batch leaves a driven run", catcher: refused, plant: finds(func(f *found, _ journal.Place) { f.batch = nil })},
		{name: "a proposal has no shared state", catcher: shared, plant: func(b *bent) {
			b.begins.bugs.propose = func(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
				o, err := b.begins.propose(ctx, r, at)
				o.Shared = nil
				return o, err
			}
		}},
		{name: "a proposal has another tenant's state", catcher: shared, plant: func(b *bent) {
			b.begins.bugs.propose = func(ctx context.Context, r journal.Run, at journal.Place) (journal.Opened, error) {
				r.Tenant = "acme"
				return b.begins.propose(ctx, r, at)
			}
		}},
	}
}
