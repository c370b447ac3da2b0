package journal

import (
	"context"

	"github.com/braidrun/braid/event"
)

// ReadPage implements [Store].
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
			scratch, _ = event.AppendJSON(scratch[:0], all[n]) // an event that cannot be encoded counts as nothing
			bytes += int64(len(scratch))
		}
	}
	return all[:n:n], n < len(all), nil
}

// Tail implements [Store]. It returns the whole log, which is in memory anyway.
func (m *Memory) Tail(ctx context.Context, id string) (Tail, error) {
	events, err := m.Read(ctx, id, 0, 0)
	return Tail{First: 1, Last: int64(len(events)), Events: events}, err
}

// Entered implements [Store].
func (m *Memory) Entered(ctx context.Context, id, message string) (run string, err error) {
	const op = "journal entered"
	if err := alive(ctx, op); err != nil {
		return "", err
	}
	if id == "" {
		return "", noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.conversations[id]; c != nil {
		for _, r := range c.runs {
			if l := r.inbox.known[message]; l.message && l.read {
				return r.row.ID, nil
			}
		}
	}
	return "", nil
}
