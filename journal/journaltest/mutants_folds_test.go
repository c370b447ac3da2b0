package journaltest

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// foldBugs are planted bugs of a store of folds.
type foldBugs struct {
	// store replaces StoreFold, and tail and parts change what is read.
	store func(context.Context, journal.Lease, journal.StoredFold) error
	tail  func(*journal.StoredTail)
	parts func([][]byte) [][]byte
}

// StoreFold stores a fold as the memory store does, or as a planted bug does.
func (b *bent) StoreFold(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
	if b.folds.store != nil {
		return b.folds.store(ctx, l, f)
	}
	return b.Memory.StoreFold(ctx, l, f)
}

// StoredTail returns the memory store's result, or a planted bug's.
func (b *bent) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := b.Memory.StoredTail(ctx, conversation)
	if err == nil && len(t.Head) == 0 {
		t.Tail, err = b.Tail(ctx, conversation)
	}
	if b.folds.tail != nil {
		b.folds.tail(&t)
	}
	return t, err
}

// StoredParts returns the memory store's result, or a planted bug's.
func (b *bent) StoredParts(ctx context.Context, conversation string) ([][]byte, error) {
	parts, err := b.Memory.StoredParts(ctx, conversation)
	if b.folds.parts != nil {
		parts = b.folds.parts(parts)
	}
	return parts, err
}

func foldMutants() []mutant {
	const (
		follows = "folds/one comes with what follows it"
		added   = "folds/parts are added and replaced"
		fits    = "folds/one that does not fit is refused"
		erased  = "folds/a redaction removes one that repeats its target"
		removed = "folds/it is removed with its conversation"
		bytes   = "folds/its bytes are nobody's, and no quota counts them"
	)
	// stores keeps folds beside the memory store, with as many checks as wanted.
	stores := func(b *bent, check func(f *journal.StoredFold, err error) error, keeps bool) {
		kept := map[string]journal.StoredFold{}
		b.folds.store = func(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
			err := check(&f, b.Memory.StoreFold(ctx, l, f))
			if err == nil && keeps {
				kept[l.Conversation] = f
			}
			return err
		}
		if keeps {
			b.folds.tail = func(t *journal.StoredTail) {
				for id, f := range kept {
					if events, err := b.Memory.Read(context.Background(), id, f.Seq-1, 0); err == nil && len(events) > 0 && t.Last == events[len(events)-1].Seq {
						*t = journal.StoredTail{Tail: journal.Tail{Last: t.Last, Events: events}, Seq: f.Seq, Head: f.Head}
					}
				}
			}
		}
	}
	as := func(_ *journal.StoredFold, err error) error { return err }
	return []mutant{
		{name: "an unknown conversation has a fold", catcher: "folds/without one there is the tail", plant: func(b *bent) {
			b.folds.tail = func(t *journal.StoredTail) {
				if len(t.Head) == 0 {
					t.Head, t.Seq = []byte("x"), 1
				}
			}
		}},
		{name: "folds are dropped", catcher: follows, plant: func(b *bent) {
			b.folds.store = func(context.Context, journal.Lease, journal.StoredFold) error { return nil }
		}},
		{name: "the events begin after a fold", catcher: follows, plant: func(b *bent) {
			b.folds.tail = func(t *journal.StoredTail) {
				if len(t.Head) > 0 {
					t.Events = t.Events[1:]
				}
			}
		}},
		{name: "parts are only added", catcher: added, plant: func(b *bent) {
			stored := 0
			b.folds.store = func(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
				f.Before = stored
				stored += len(f.Parts)
				return b.Memory.StoreFold(ctx, l, f)
			}
		}},
		{name: "parts lose their order", catcher: added, plant: func(b *bent) {
			b.folds.parts = func(parts [][]byte) [][]byte {
				slices.Reverse(parts)
				return parts
			}
		}},
		{name: "every fold is accepted", catcher: fits, plant: func(b *bent) {
			stores(b, func(*journal.StoredFold, error) error { return nil }, false)
		}},
		{name: "a redaction leaves the fold", catcher: erased, plant: func(b *bent) { stores(b, as, true) }},
		{name: "every redaction removes the fold", catcher: erased, plant: func(b *bent) {
			b.folds.tail = func(t *journal.StoredTail) {
				if slices.ContainsFunc(t.Events, func(e *event.Event) bool { _, is := e.Body.(*event.Redacted); return is }) {
					*t = journal.StoredTail{Tail: t.Tail}
				}
			}
		}},
		{name: "a fold outlives its conversation", catcher: removed, plant: func(b *bent) { stores(b, as, true) }},
		{name: "a fold is stored for whoever has the name", catcher: removed, plant: func(b *bent) {
			b.folds.store = func(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
				err := b.Memory.StoreFold(ctx, l, f)
				b.mu.Lock()
				defer b.mu.Unlock()
				if newest, there := b.leases[l.Conversation]; event.KindOf(err) == event.ErrConflict && there && newest.Run != l.Run {
					return b.Memory.StoreFold(ctx, newest, f)
				}
				return err
			}
		}},
		{name: "heads are shared", catcher: bytes, plant: func(b *bent) {
			var head []byte
			b.folds.store = func(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
				head = f.Head
				return b.Memory.StoreFold(ctx, l, f)
			}
			b.folds.tail = func(t *journal.StoredTail) {
				if len(t.Head) > 0 {
					t.Head = head
				}
			}
		}},
	}
}
