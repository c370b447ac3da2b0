package journal

import (
	"cmp"
	"context"
	"slices"
)

// Conversations implements [Catalog].
func (m *Memory) Conversations(ctx context.Context, tenant, after string, limit int) ([]Summary, error) {
	const op = "journal conversations"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.admitted + 1
	if after != "" {
		c := m.conversations[after]
		if c == nil || c.tenant != tenant {
			return nil, notFound(op, "there is no such conversation")
		}
		before = c.newest().number
	}
	var found []*conversation
	for _, c := range m.conversations {
		if c.tenant == tenant && c.newest().number < before {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *conversation) int { return cmp.Compare(b.newest().number, a.newest().number) })
	if limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	list := make([]Summary, len(found))
	for i, c := range found {
		list[i] = c.summary()
	}
	return list, nil
}

// Runs implements [Catalog].
func (m *Memory) Runs(ctx context.Context, id string, after, limit int) ([]Run, error) {
	const op = "journal runs"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil {
		return nil, nil
	}
	from, _ := slices.BinarySearchFunc(c.runs, after+1, func(r *run, turn int) int { return cmp.Compare(r.row.Turn, turn) })
	found := c.runs[from:]
	if limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	if len(found) == 0 {
		return nil, nil
	}
	runs := make([]Run, len(found))
	for i, r := range found {
		runs[i] = handOut(r.row)
	}
	return runs, nil
}

// newest returns the run that was admitted last. Every conversation has a run.
func (c *conversation) newest() *run { return c.runs[len(c.runs)-1] }

func (c *conversation) summary() Summary {
	newest := c.newest()
	s := Summary{
		ID: c.id, Tenant: c.tenant, User: newest.row.User, Agent: newest.row.Agent,
		Turns: len(c.runs), Last: c.last(), Status: newest.row.Status,
		Created: c.runs[0].row.Admitted, Updated: newest.row.Admitted,
	}
	if c.head != nil {
		s.Open, s.Status = newest.row.Turn-c.head.row.Turn+1, c.head.row.Status
	}
	return s
}
