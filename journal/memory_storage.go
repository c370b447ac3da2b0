package journal

import (
	"context"

	"github.com/braidrun/braid/event"
)

// touch records that the conversation has changed.
func (t *tally) touch(c *conversation) {
	if t.asked {
		t.changed[c] = struct{}{}
	}
}

// forget removes the count of a removed conversation.
func (t *tally) forget(c *conversation) {
	if t.asked {
		delete(t.changed, c)
		t.bytes[c.tenant] -= c.weight.bytes
	}
}

// forgetTenant removes the count of a removed tenant.
func (t *tally) forgetTenant(tenant string) {
	for c := range t.changed {
		if c.tenant == tenant {
			delete(t.changed, c)
		}
	}
	delete(t.bytes, tenant)
}

// StoredBytes implements [Catalog].
func (m *Memory) StoredBytes(ctx context.Context, tenant string) (int64, error) {
	const op = "journal stored bytes"
	if err := alive(ctx, op); err != nil {
		return 0, err
	}
	if err := names(op, tenant); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &m.tally
	if !t.asked {
		t.asked, t.bytes, t.changed = true, make(map[string]int64), make(map[*conversation]struct{})
		for _, c := range m.conversations {
			t.touch(c)
		}
	}
	for c := range t.changed {
		if c.tenant == tenant {
			delete(t.changed, c)
			before := c.weight.bytes
			t.weigh(c)
			t.bytes[tenant] += c.weight.bytes - before
		}
	}
	return t.bytes[tenant] + m.blobs.Bytes(tenant), nil
}

// Weigh implements [Catalog].
func (m *Memory) Weigh(ctx context.Context, id string) (int64, error) {
	const op = "journal weigh"
	if err := alive(ctx, op); err != nil {
		return 0, err
	}
	if id == "" {
		return 0, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil {
		return 0, nil
	}
	m.tally.weighLog(c)
	return c.weight.log, nil
}

// weighLog counts the events that the log has gained since the last count.
func (t *tally) weighLog(c *conversation) {
	w := &c.weight
	for _, e := range c.events[w.events:] {
		t.scratch, _ = event.AppendJSON(t.scratch[:0], e) // an event that cannot be encoded counts as nothing
		w.log += int64(len(t.scratch))
	}
	w.events = len(c.events)
}

// weigh counts a conversation.
func (t *tally) weigh(c *conversation) {
	t.weighLog(c)
	w := &c.weight
	w.bytes = w.log
	for _, r := range c.runs {
		for i := range r.row.Input {
			t.scratch, _ = event.AppendMessage(t.scratch[:0], r.row.Input[i])
			w.bytes += int64(len(t.scratch))
		}
		for i := range r.inbox.unread {
			w.bytes += int64(len(r.inbox.unread[i].Value)) + t.blocks(r.inbox.unread[i].Message)
		}
		for _, tool := range r.tools {
			w.bytes += int64(len(tool.Input)) + t.blocks(tool.Output)
		}
		for i := range r.messages {
			w.bytes += int64(len(r.messages[i].Content))
		}
	}
}

func (t *tally) blocks(list []event.Block) int64 {
	if len(list) == 0 {
		return 0
	}
	t.scratch, _ = event.AppendBlocks(t.scratch[:0], list)
	return int64(len(t.scratch))
}
