package journal

import (
	"bytes"
	"context"
	"slices"

	"github.com/braidrun/braid/event"
)

// StoredTail implements [Store].
func (m *Memory) StoredTail(ctx context.Context, id string) (StoredTail, error) {
	const op = "journal stored tail"
	if err := alive(ctx, op); err != nil {
		return StoredTail{}, err
	}
	if id == "" {
		return StoredTail{}, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	var t StoredTail
	if c := m.conversations[id]; c != nil && c.fold.seq > 0 {
		t.Seq, t.Head = c.fold.seq, c.fold.head
		t.Events = c.events[t.Seq-1 : len(c.events) : len(c.events)]
		t.Last = c.last()
	}
	m.mu.Unlock()
	if t.Head != nil {
		t.Head = slices.Clone(t.Head)
		return t, nil
	}
	tail, err := m.Tail(ctx, id)
	return StoredTail{Tail: tail}, err
}

// StoredParts implements [Store].
func (m *Memory) StoredParts(ctx context.Context, id string) ([][]byte, error) {
	const op = "journal stored parts"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil || c.fold.seq == 0 {
		return nil, nil
	}
	parts := make([][]byte, len(c.fold.parts))
	for i, p := range c.fold.parts {
		parts[i] = bytes.Clone(p)
	}
	return parts, nil
}

// StoreFold implements [Store].
func (m *Memory) StoreFold(ctx context.Context, l Lease, f StoredFold) error {
	const op = "journal store fold"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if err := CheckStoredFold(op, l, &f); err != nil {
		return err
	}
	head, parts := slices.Clone(f.Head), make([][]byte, len(f.Parts))
	for i, p := range f.Parts {
		parts[i] = bytes.Clone(p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.leased(l)
	if r == nil || !r.conversation.current(r, l) || r.conversation.last() != f.Seq || f.Before > len(r.conversation.fold.parts) {
		return StaleFold(op)
	}
	c := r.conversation
	c.fold = memoryFold{seq: f.Seq, head: head, parts: append(c.fold.parts[:f.Before:f.Before], parts...)}
	return nil
}

// eraseFold removes a stored fold that holds what a redaction erases.
func (c *conversation) eraseFold(b *event.Redacted) {
	if !b.Clean && b.Target <= c.fold.seq {
		c.fold = memoryFold{}
	}
}
