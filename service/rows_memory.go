package service

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// MemoryRows are [Rows] in memory. The zero value is ready for use. It must not be copied.
type MemoryRows struct {
	mu   sync.Mutex
	rows map[rowKey]Row
	// count is the number of each tenant's rows.
	count map[string]int64
	// bytes is the size of each tenant's rows.
	bytes map[string]int64
	// expired has the time and the user of each expired row.
	expired map[rowKey]expiredRow
}

type expiredRow struct {
	at   time.Time
	user string
}

type rowKey struct{ tenant, id string }

var _ Rows = (*MemoryRows)(nil)

// Create implements [Rows].
func (m *MemoryRows) Create(_ context.Context, row Row, most int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := rowKey{row.Tenant, row.ID}
	if _, ok := m.rows[k]; ok {
		return exists()
	}
	if most > 0 && m.count[row.Tenant] >= most {
		return tooMany(most)
	}
	if m.rows == nil {
		m.rows, m.count, m.bytes = make(map[rowKey]Row), make(map[string]int64), make(map[string]int64)
	}
	m.rows[k] = row.copied()
	m.count[row.Tenant]++
	m.bytes[row.Tenant] += row.size()
	return nil
}

// Count implements [Rows].
func (m *MemoryRows) Count(_ context.Context, tenant string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count[tenant], nil
}

// Bytes implements [Rows].
func (m *MemoryRows) Bytes(_ context.Context, tenant string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes[tenant], nil
}

// Get implements [Rows].
func (m *MemoryRows) Get(ctx context.Context, tenant, id string) (Row, error) {
	return m.Find(ctx, tenant, "", id)
}

// Find implements [Rows].
func (m *MemoryRows) Find(_ context.Context, tenant, user, id string) (Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := rowKey{tenant, id}
	if row, ok := m.rows[k]; ok && (user == "" || row.User == user) {
		return row.copied(), nil
	}
	if was, ok := m.expired[k]; ok && (user == "" || was.user == user) {
		return Row{}, expired()
	}
	return Row{}, notFound("conversation", "conversation")
}

// List implements [Rows].
func (m *MemoryRows) List(_ context.Context, tenant string, q Query) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Row
	last, order := Row{Created: q.Created, Updated: q.Updated, ID: q.ID}, newestFirst
	if !q.Unchanged.IsZero() {
		order = idlestFirst
	}
	for k, row := range m.rows {
		idle := q.Unchanged.IsZero() || row.Updated.Before(q.Unchanged)
		chosen := (q.User == nil || row.User == *q.User) && (q.Agent == "" || row.Agent == q.Agent)
		if k.tenant == tenant && row.Archived == q.Archived && idle && chosen && (q.ID == "" || order(last, row) < 0) {
			row = row.copied()
			row.History = nil
			list = append(list, row)
		}
	}
	slices.SortFunc(list, order)
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list, nil
}

func newestFirst(a, b Row) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

func idlestFirst(a, b Row) int {
	return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID))
}

// Change implements [Rows].
func (m *MemoryRows) Change(_ context.Context, tenant, id string, change func(*Row) error) (Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := rowKey{tenant, id}
	old, ok := m.rows[k]
	if !ok {
		return Row{}, notFound("conversation", "conversation")
	}
	row := old.copied()
	if err := change(&row); err != nil {
		return Row{}, err
	}
	row.Tenant, row.ID, row.Created = old.Tenant, old.ID, old.Created
	m.rows[k] = row
	m.bytes[tenant] += row.size() - old.size()
	return row.copied(), nil
}

// Delete implements [Rows].
func (m *MemoryRows) Delete(_ context.Context, tenant, id string, made time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := rowKey{tenant, id}
	row, ok := m.rows[k]
	if !ok || !row.Created.Equal(made) {
		return notFound("conversation", "conversation")
	}
	delete(m.rows, k)
	m.bytes[tenant] -= row.size()
	if m.count[tenant]--; m.count[tenant] == 0 {
		delete(m.count, tenant)
		delete(m.bytes, tenant)
	}
	delete(m.expired, k)
	return nil
}

// Expire implements [Rows].
func (m *MemoryRows) Expire(ctx context.Context, tenant, id string, made, at time.Time) error {
	m.mu.Lock()
	user := m.rows[rowKey{tenant, id}].User
	m.mu.Unlock()
	if err := m.Delete(ctx, tenant, id, made); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.expired == nil {
		m.expired = make(map[rowKey]expiredRow)
	}
	maps.DeleteFunc(m.expired, func(k rowKey, was expiredRow) bool { return k.tenant == tenant && was.at.Before(at.Add(-remembered)) })
	m.expired[rowKey{tenant, id}] = expiredRow{at, user}
	return nil
}

// Close implements [Rows].
func (*MemoryRows) Close() error { return nil }

func (r Row) copied() Row {
	r.Metadata = maps.Clone(r.Metadata)
	return r
}

func exists() error {
	return &event.Error{
		Op: "conversation", Kind: event.ErrConflict, Message: "a conversation with this id exists", Hint: "use another id",
	}
}
