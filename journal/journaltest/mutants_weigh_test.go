package journaltest

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Weigh returns the memory store's result, or a planted bug's.
func (b *bent) Weigh(ctx context.Context, conversation string) (int64, error) {
	var bytes int64
	list, err := b.Memory.Read(ctx, conversation, 1, 0)
	for _, e := range list {
		raw, err := event.AppendJSON(nil, e)
		if err != nil {
			return 0, err
		}
		bytes += int64(len(raw))
	}
	if b.weight != nil && err == nil {
		bytes = b.weight(len(list), bytes)
	}
	return bytes, err
}

// ReadPage returns the memory store's page, or one with a planted bug's bounds.
func (b *bent) ReadPage(ctx context.Context, conversation string, after int64, limit int, most int64) ([]*event.Event, bool, error) {
	if b.paged != nil {
		limit, most = b.paged(limit, most)
	}
	return b.Memory.ReadPage(ctx, conversation, after, limit, most)
}

func weighMutants() []mutant {
	const weighs = "weigh/a conversation weighs what its events take"
	bends := func(f func(events int, bytes int64) int64) func(b *bent) { return func(b *bent) { b.weight = f } }
	const pages = "read/pages end where their bytes do"
	return []mutant{
		{name: "pages have no bound of bytes", catcher: pages, plant: func(b *bent) {
			b.paged = func(limit int, _ int64) (int, int64) { return limit, 0 }
		}},
		{name: "pages have no bound of events", catcher: pages, plant: func(b *bent) {
			b.paged = func(_ int, most int64) (int, int64) { return 0, most }
		}},
		{name: "every conversation weighs nothing", catcher: weighs, plant: bends(func(int, int64) int64 { return 0 })},
		{name: "events are counted, not their bytes", catcher: weighs, plant: bends(func(n int, _ int64) int64 { return int64(n) })},
		{name: "an unknown conversation weighs something", catcher: weighs, plant: bends(func(_ int, bytes int64) int64 { return bytes + 1 })},
		{name: "the newest event is left out", catcher: weighs, plant: bends(func(n int, bytes int64) int64 {
			return bytes * int64(max(n-1, 0)) / int64(max(n, 1))
		})},
	}
}
