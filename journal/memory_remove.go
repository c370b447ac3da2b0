package journal

import (
	"context"
	"maps"

	"github.com/braidrun/braid/event"
)

var _ Remover = (*Memory)(nil)

// Remove implements [Remover].
func (m *Memory) Remove(ctx context.Context, tenant, id string) error {
	const op = "journal remove"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if id == "" {
		return noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil || c.tenant != tenant {
		return notFound(op, "there is no such conversation")
	}
	if c.head != nil {
		return openRun(op)
	}
	maps.DeleteFunc(m.runs, func(_ string, r *run) bool { return r.conversation == c })
	delete(m.conversations, id)
	return nil
}

func openRun(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrLocked, Message: "a run of the conversation has not ended",
		Hint: "cancel it, or wait for it, and try again",
	}
}
