package journal

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/braidrun/braid/event"
)

// Remove implements [Catalog].
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
	return m.remove(op, tenant, id)
}

// grave is where a conversation's life is buried.
type grave struct{ tenant, conversation, life string }

// Tombstone implements [Catalog].
func (m *Memory) Tombstone(ctx context.Context, tenant, id, life string) error {
	const op = "journal bury"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if id == "" || life == "" {
		return noID(op, "a conversation and its life need an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if at, over := m.buried[grave{tenant, id, life}]; over && now.Sub(at) <= TombstoneTime {
		return nil // what has the name by now is another life
	}
	if m.conversations[id] != nil {
		if err := m.remove(op, tenant, id); err != nil {
			return err
		}
	} else {
		m.removeBlobs(tenant, id)
	}
	maps.DeleteFunc(m.buried, func(_ grave, at time.Time) bool { return now.Sub(at) > TombstoneTime })
	if m.buried == nil {
		m.buried = make(map[grave]time.Time)
	}
	m.buried[grave{tenant, id, life}] = now
	return nil
}

func (m *Memory) remove(op, tenant, id string) error {
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
	m.tally.forget(c)
	m.removeBlobs(tenant, id)
	return nil
}

func openRun(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrLocked, Message: "a run of the conversation has not ended",
		Hint: "cancel it, or wait for it, and try again",
	}
}

// RemoveTenant implements [Catalog].
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
	maps.DeleteFunc(m.buried, func(g grave, _ time.Time) bool { return g.tenant == tenant })
	delete(m.usage, tenant)
	m.tally.forgetTenant(tenant)
	return m.blobs.RemoveTenant(ctx, tenant)
}
