package journal

import (
	"cmp"
	"context"
	"slices"
)

// FindRuns implements [Catalog].
func (m *Memory) FindRuns(ctx context.Context, q RunQuery) (RunPage, error) {
	if err := alive(ctx, "journal find runs"); err != nil {
		return RunPage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*run
	for _, r := range m.runs {
		if (q.Before == 0 || r.number < q.Before) && q.wants(&r.row) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *run) int { return cmp.Compare(b.number, a.number) })
	var runs []Run
	last := int64(0)
	for _, r := range found[:min(len(found), q.Most())] {
		row := r.row
		row.Input, row.Metadata = nil, nil
		runs, last = append(runs, row), r.number
	}
	return q.Page(runs, last, 0), nil
}

// wants reports whether the query selects a run.
func (q *RunQuery) wants(r *Run) bool {
	return (q.ID == "" || q.ID == r.ID) && (q.Tenant == "" || q.Tenant == r.Tenant) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.User == "" || q.User == r.User) && (q.Agent == "" || q.Agent == r.Agent) &&
		(q.Failure == "" || q.Failure == r.Failure) && (q.Since.IsZero() || !r.Admitted.Before(q.Since))
}
