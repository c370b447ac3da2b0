package journal

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// write adds a batch's rows to the ledger.
func (m *Memory) write(r *run, b *Batch) {
	for i := range b.Usage {
		m.addUsage(r, b.Usage[i])
	}
	for i := range b.Tools {
		m.setTool(r, &b.Tools[i])
	}
}

func (m *Memory) addUsage(r *run, u UsageEntry) {
	m.ledgerKey++
	u.Key, u.Tenant, u.Conversation, u.Run, u.Turn = m.ledgerKey, r.row.Tenant, r.row.Conversation, r.row.ID, r.row.Turn
	u.Executor, u.User, u.RunStatus = r.row.Executor, r.row.User, ""
	u.Time = ledgerTime(u.Time)
	for _, s := range []*string{&u.Step, (*string)(&u.Kind), &u.Scope, &u.Call, &u.Agent, &u.Model, (*string)(&u.Status)} {
		*s = LedgerText(*s)
	}
	if u.CostNanoUSD != nil {
		cost := *u.CostNanoUSD
		u.CostNanoUSD = &cost
	}
	if m.usage == nil {
		m.usage = make(map[string][]*usageRow)
	}
	m.usage[u.Tenant] = append(m.usage[u.Tenant], &usageRow{u, r})
}

func (m *Memory) setTool(r *run, t *ToolEntry) {
	i := slices.IndexFunc(r.tools, func(o *ToolEntry) bool { return o.Step == t.Step })
	if i >= 0 {
		o := r.tools[i]
		o.Attempt, o.Status, o.IsError, o.End = t.Attempt, t.Status, t.IsError, t.End
		o.Output, o.Finished = slices.Clone(t.Output), ledgerTime(t.Finished)
		if t.Input != nil {
			o.Input = slices.Clone(t.Input)
		}
		return
	}
	m.ledgerKey++
	o := *t
	o.Key, o.Tenant, o.Conversation, o.Run, o.Turn, o.Executor = m.ledgerKey, "", "", "", 0, ""
	o.Began, o.Finished = ledgerTime(o.Began), ledgerTime(o.Finished)
	o.Input, o.Output = slices.Clone(o.Input), slices.Clone(o.Output)
	for _, s := range []*string{&o.Step, &o.Call, &o.Parent, &o.Scope, &o.Agent, &o.Name, &o.Source, (*string)(&o.Status)} {
		*s = LedgerText(*s)
	}
	r.tools = append(r.tools, &o)
}

// ledgerTime returns a time with the precision of the stores.
func ledgerTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// eraseTools erases what tool entries repeat of a redacted event.
func (r *run) eraseTools(b *event.Redacted) {
	for _, t := range r.tools {
		if t.Asked == b.Target {
			t.Input = nil
		}
		if t.End == b.Target {
			t.Output = b.Shown()
		}
	}
}

// wants reports whether the query selects a row.
func (q *LedgerQuery) wants(conversation, run, executor string, at time.Time, key int64) bool {
	switch {
	case q.Conversation != "" && q.Conversation != conversation, q.Run != "" && q.Run != run,
		q.Executor != "" && q.Executor != executor,
		!q.From.IsZero() && at.Before(q.From), !q.To.IsZero() && !at.Before(q.To):
		return false
	case q.Before == LedgerPlace{}:
		return true
	default:
		return at.Before(q.Before.Time) || at.Equal(q.Before.Time) && key < q.Before.Key
	}
}

// page sorts rows and applies the limit.
func page[T any](rows []T, limit int, place func(*T) LedgerPlace) []T {
	slices.SortFunc(rows, func(a, b T) int {
		p, q := place(&a), place(&b)
		return cmp.Or(q.Time.Compare(p.Time), cmp.Compare(q.Key, p.Key))
	})
	if limit > 0 && limit < len(rows) {
		rows = rows[:limit]
	}
	return rows
}

// UsageLog implements [Ledger].
func (m *Memory) UsageLog(ctx context.Context, q LedgerQuery) ([]UsageEntry, error) {
	if err := alive(ctx, "journal usage"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return page(m.usageOf(&q), q.Limit, (*UsageEntry).Place), nil
}

func (m *Memory) usageOf(q *LedgerQuery) []UsageEntry {
	var found []UsageEntry
	for _, u := range m.usage[q.Tenant] {
		if q.Model != "" && q.Model != u.Model || q.User != "" && q.User != u.User || !q.wants(u.Conversation, u.Run, u.Executor, u.Time, u.Key) {
			continue
		}
		one := u.UsageEntry
		if u.run != nil {
			one.RunStatus = u.run.row.Status
		}
		found = append(found, one)
	}
	return found
}

// UsageSums implements [Ledger].
func (m *Memory) UsageSums(ctx context.Context, q LedgerQuery, by UsageBy, after *string) ([]UsageSum, error) {
	const op = "journal usage sums"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	var key func(*UsageEntry) string
	switch by {
	case UsageByModel:
		key = func(u *UsageEntry) string { return u.Model }
	case UsageByConversation:
		key = func(u *UsageEntry) string { return u.Conversation }
	case UsageByRun:
		key = func(u *UsageEntry) string { return u.Run }
	case UsageByDay:
		key = func(u *UsageEntry) string { return u.Time.Format(time.DateOnly) }
	case UsageByExecutor:
		key = func(u *UsageEntry) string { return u.Executor }
	case UsageByAgent:
		key = func(u *UsageEntry) string { return u.Agent }
	case UsageByUser:
		key = func(u *UsageEntry) string { return u.User }
	case UsageByKind:
		key = func(u *UsageEntry) string { return string(u.Kind) }
	default:
		return nil, NoSuchSum(op)
	}
	q.Before = LedgerPlace{}
	m.mu.Lock()
	rows := m.usageOf(&q)
	m.mu.Unlock()
	groups := make(map[string]*UsageSum)
	for i := range rows {
		u := &rows[i]
		k := key(u)
		if after != nil && k <= *after {
			continue
		}
		s := groups[k]
		if s == nil {
			s = &UsageSum{Key: k}
			groups[k] = s
		}
		s.Calls++
		s.Tokens = s.Add(u.Tokens)
		if u.CostNanoUSD == nil {
			s.Unpriced++
		} else {
			s.KnownNanoUSD = event.AddCounts(s.KnownNanoUSD, *u.CostNanoUSD)
		}
		if u.Estimated {
			s.Estimated++
		}
	}
	var sums []UsageSum
	for _, s := range groups {
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b UsageSum) int { return strings.Compare(a.Key, b.Key) })
	if q.Limit > 0 && q.Limit < len(sums) {
		sums = sums[:q.Limit]
	}
	return sums, nil
}

// ToolLog implements [Ledger].
func (m *Memory) ToolLog(ctx context.Context, q LedgerQuery) ([]ToolEntry, error) {
	if err := alive(ctx, "journal tools"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []ToolEntry
	for _, r := range m.runs {
		if r.row.Tenant != q.Tenant {
			continue
		}
		for _, t := range r.tools {
			if q.Tool != "" && q.Tool != t.Name || !q.wants(r.row.Conversation, r.row.ID, r.row.Executor, t.Began, t.Key) {
				continue
			}
			one := *t
			one.Tenant, one.Conversation, one.Run, one.Turn = r.row.Tenant, r.row.Conversation, r.row.ID, r.row.Turn
			one.Executor = r.row.Executor
			found = append(found, one)
		}
	}
	return page(found, q.Limit, (*ToolEntry).Place), nil
}

// AddUsage implements [Ledger].
func (m *Memory) AddUsage(ctx context.Context, u UsageEntry) error {
	const op = "journal add usage"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if u.Run == "" || u.Step == "" {
		return noID(op, "usage needs a run and a step")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[u.Run]
	if r == nil {
		return notFound(op, "there is no such run")
	}
	for _, o := range m.usage[r.row.Tenant] {
		if o.run == r && o.Step == u.Step && o.Attempt == u.Attempt {
			return nil
		}
	}
	m.addUsage(r, u)
	return nil
}

// NoSuchSum returns the error for an unknown [UsageBy]. Stores use it.
func NoSuchSum(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "usage is not summed by that",
		Hint: "sum by model, conversation, run, day, executor, agent or kind",
	}
}
