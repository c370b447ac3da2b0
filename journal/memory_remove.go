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

// Tombstone implements [Catalog].
func (m *Memory) Tombstone(ctx context.Context, tenant, id, incarnation string) error {
	const op = "journal tombstone"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if id == "" || incarnation == "" {
		return noID(op, "a conversation and its incarnation need an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if at, over := m.tombstones[tombstone{tenant, id, incarnation}]; over && now.Sub(at) <= TombstoneTime {
		return nil // another incarnation may have the id by now
	}
	if m.conversations[id] != nil {
		if err := m.remove(op, tenant, id); err != nil {
			return err
		}
	} else {
		m.removeBlobs(tenant, id)
	}
	maps.DeleteFunc(m.tombstones, func(_ tombstone, at time.Time) bool { return now.Sub(at) > TombstoneTime })
	if m.tombstones == nil {
		m.tombstones = make(map[tombstone]time.Time)
	}
	m.tombstones[tombstone{tenant, id, incarnation}] = now
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
	maps.DeleteFunc(m.tombstones, func(g tombstone, _ time.Time) bool { return g.tenant == tenant })
	delete(m.usage, tenant)
	m.tally.forgetTenant(tenant)
	return m.blobs.RemoveTenant(ctx, tenant)
}
