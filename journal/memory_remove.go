package journal

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/braidrun/braid/event"
)

var (
	_ Remover       = (*Memory)(nil)
	_ TenantRemover = (*Memory)(nil)
)

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
	for _, u := range m.usage[tenant] {
		if u.run != nil && u.run.conversation == c {
			u.RunStatus, u.run = u.run.row.Status, nil
		}
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

// RemoveTenant implements [TenantRemover].
func (m *Memory) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "journal remove tenant"
	if err := alive(ctx, op); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conversations {
		if c.tenant == tenant && c.head != nil {
			return openRun(op)
		}
	}
	maps.DeleteFunc(m.runs, func(_ string, r *run) bool { return r.row.Tenant == tenant })
	maps.DeleteFunc(m.conversations, func(_ string, c *conversation) bool { return c.tenant == tenant })
	maps.DeleteFunc(m.shared, func(o owner, _ map[string]json.RawMessage) bool { return o.tenant == tenant })
	delete(m.usage, tenant)
	return nil
}
