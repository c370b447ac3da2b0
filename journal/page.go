package journal

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Pager reads a log in pages that are bounded in bytes.
type Pager interface {
	// ReadPage is [Store].Read with a bound of bytes as the events are encoded: the page ends with the commit that reaches
	// it, and holds one event at least if there is one. more says that the log goes on behind the page. A most of 0 or less
	// is no bound.
	ReadPage(ctx context.Context, conversation string, after int64, max int, most int64) (events []*event.Event, more bool, err error)
}

// ReadPage reads a page of a store's log, which is bounded in bytes if the store is a [Pager]. more says that the log may go on.
func ReadPage(ctx context.Context, s Store, conversation string, after int64, limit int, most int64) (events []*event.Event, more bool, err error) {
	if p, ok := s.(Pager); ok {
		return p.ReadPage(ctx, conversation, after, limit, most)
	}
	events, err = s.Read(ctx, conversation, after, limit)
	return events, limit > 0 && len(events) >= limit, err
}

// ReadPage implements [Pager].
func (m *Memory) ReadPage(ctx context.Context, id string, after int64, limit int, most int64) (events []*event.Event, more bool, err error) {
	all, err := m.Read(ctx, id, after, 0)
	if err != nil {
		return nil, false, err
	}
	var bytes int64
	var scratch []byte
	n := 0
	for ; n < len(all) && (limit <= 0 || n < limit) && (most <= 0 || bytes < most); n++ {
		if most > 0 {
			scratch, _ = event.AppendJSON(scratch[:0], all[n]) // what cannot be written takes nothing
			bytes += int64(len(scratch))
		}
	}
	return all[:n:n], n < len(all), nil
}

var _ Pager = (*Memory)(nil)
