package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"

	"github.com/braidrun/braid/journal"
)

// stillOpen is the condition of the index run_open.
const stillOpen = ` AND r.status IN ('queued', 'running', 'waiting')`

// unsuccessful is the condition of the index run_tenant_unsuccessful.
const unsuccessful = ` AND r.status IN ('failed', 'cancelled')`

// FindRuns implements [journal.Catalog].
func (s *Store) FindRuns(ctx context.Context, q journal.RunQuery) (page journal.RunPage, err error) {
	const op = "journal find runs"
	if err := alive(ctx, op); err != nil {
		return page, err
	}
	before, since := int64(math.MaxInt64), int64(math.MinInt64)
	if q.Before > 0 {
		before = q.Before
	}
	if !q.Since.IsZero() {
		since = wakeMicros(q.Since)
	}
	var statuses any
	if len(q.Status) > 0 {
		b, err := json.Marshal(q.Status)
		if err != nil {
			return page, fault(op, err)
		}
		statuses = string(b)
	}
	var found []runRow
	edge := int64(0)
	err = s.look(ctx, op, func(ask asker) error {
		found, edge = nil, 0
		where, args := ` r.key < ?`, []any{before}
		from := `run r NOT INDEXED`
		switch {
		case q.ID != "":
			where, args, from = where+` AND r.id = ?`, append(args, q.ID), `run r`
		case q.Open() && q.Tenant != "":
			where, args, from = where+stillOpen+` AND r.tenant = ?`, append(args, q.Tenant), `run r INDEXED BY run_tenant_open`
		case q.Unsuccessful() && q.Tenant != "":
			where, args, from = where+unsuccessful+` AND r.tenant = ?`, append(args, q.Tenant), `run r INDEXED BY run_tenant_unsuccessful`
		case q.Open():
			where, from = where+stillOpen, `run r INDEXED BY run_open`
		case q.Tenant != "":
			where, args, from = where+` AND r.tenant = ?`, append(args, q.Tenant), `run r INDEXED BY run_tenant`
		}
		if q.ID == "" {
			// The last run that one call examines, and whether the runs behind it are too old.
			var admitted int64
			there, err := one(ask(`SELECT r.key, r.admitted FROM `+from+` WHERE`+where+` ORDER BY r.key DESC LIMIT 1 OFFSET ?`,
				append(slices.Clip(args), journal.FindAtOnce-1)...))(&edge, &admitted)
			if err != nil {
				return err
			}
			if !there || admitted < since {
				edge = 0
			}
		}
		rows, err := ask(`SELECT `+headColumns+` FROM `+from+` CROSS JOIN conversation c ON c.key = r.conversation WHERE`+where+`
			AND r.key >= ? AND (? = '' OR r.tenant = ?) AND (? IS NULL OR r.status IN (SELECT value FROM json_each(?)))
			AND (? = '' OR r.user = ?) AND (? = '' OR r.agent = ?) AND (? = '' OR r.failure = ?) AND r.admitted >= ?
			ORDER BY r.key DESC LIMIT ?`, append(slices.Clip(args), edge, q.Tenant, q.Tenant, statuses, statuses,
			q.User, q.User, q.Agent, q.Agent, q.Failure, q.Failure, since, q.Most())...)
		found, err = runRows(rows, err)
		return err
	})
	if err != nil {
		return page, err
	}
	runs, err := readRuns(op, found)
	if err != nil {
		return page, err
	}
	last := int64(0)
	for i := range runs {
		runs[i].Metadata = nil
		last = found[i].key
	}
	return q.Page(runs, last, edge), nil
}

// one reads the only row, if there is one.
func one(rows *sql.Rows, err error) func(into ...any) (bool, error) {
	return func(into ...any) (bool, error) {
		if err != nil {
			return false, err
		}
		defer rows.Close()
		if !rows.Next() {
			return false, rows.Err()
		}
		return true, rows.Scan(into...)
	}
}
