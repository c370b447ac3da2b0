package service

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/service/database"
)

// SQLRows are [Rows] in the service's database. Make them with [NewRows] or [OpenRows].
type SQLRows struct {
	db    *database.DB
	close func() error
}

var _ Rows = (*SQLRows)(nil)

// NewRows returns the rows in a database. Closing them does not close the database.
func NewRows(db *database.DB) *SQLRows {
	return &SQLRows{db: db, close: func() error { return nil }}
}

// Check returns nil if the database accepts writes as far as it knows: see [database.DB.Check].
func (s *SQLRows) Check(ctx context.Context) error { return s.db.Check(ctx) }

// OpenRows opens or creates a file that holds only conversations.
func OpenRows(file string) (*SQLRows, error) {
	db, err := database.OpenSQLite(file)
	if err != nil {
		return nil, err
	}
	return &SQLRows{db: db, close: db.Close}, nil
}

const rowColumns = `tenant, id, person, title, archived, since, agent, agent_version, metadata, origin, at, history, created, updated, no_files`

// Create implements [Rows].
func (s *SQLRows) Create(ctx context.Context, row Row, most int64) error {
	const op = "conversation"
	values, err := row.values()
	if err != nil {
		return database.Damaged(op, err)
	}
	return s.db.Write(ctx, op, row.Tenant, func(tx *database.Tx) error {
		n, err := tx.Exec(`INSERT INTO conversation (`+rowColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, values...)
		if err != nil || n == 0 {
			return cmp.Or(err, exists())
		}
		if most <= 0 {
			return nil
		}
		// The transaction has locked the counter's row by now: a concurrent Create waits here.
		if _, err := tx.Get(selectCount, []any{row.Tenant}, &n); err != nil || n <= most {
			return err
		}
		return tooMany(most)
	})
}

const selectCount = `SELECT n FROM conversation_count WHERE tenant = ?`

// Count implements [Rows].
func (s *SQLRows) Count(ctx context.Context, tenant string) (n int64, err error) {
	err = s.db.Look(ctx, "conversations", tenant, selectCount, []any{tenant}, func(scan func(into ...any) error) error { return scan(&n) })
	return n, err
}

// Bytes implements [Rows].
func (s *SQLRows) Bytes(ctx context.Context, tenant string) (n int64, err error) {
	err = s.db.Look(ctx, "conversations", tenant, selectBytes, []any{tenant}, func(scan func(into ...any) error) error { return scan(&n) })
	return n, err
}

const selectBytes = `SELECT bytes FROM conversation_count WHERE tenant = ?`

const (
	selectRow     = `SELECT ` + rowColumns + ` FROM conversation WHERE tenant = ? AND id = ?`
	selectExpired = `SELECT at FROM expired WHERE tenant = ? AND id = ?`
)

// Get implements [Rows].
func (s *SQLRows) Get(ctx context.Context, tenant, id string) (row Row, err error) {
	return s.Find(ctx, tenant, "", id)
}

// Find implements [Rows]. For another user's row it makes the same queries as for a missing row, so
// that neither the result nor its time reveals the difference.
func (s *SQLRows) Find(ctx context.Context, tenant, user, id string) (row Row, err error) {
	const op = "conversation"
	there, was := false, false
	rows, gone, args := selectRow, selectExpired, []any{tenant, id}
	if user != "" {
		rows, gone, args = rows+` AND person = ?`, gone+` AND person = ?`, append(args, user)
	}
	err = s.db.Look(ctx, op, tenant, rows, args, func(scan func(into ...any) error) (err error) {
		there = true
		row, err = scanRow(scan)
		return err
	})
	switch {
	case err != nil:
		return Row{}, err
	case there:
		return row, nil
	}
	// It is not there now: it may have expired.
	err = s.db.Look(ctx, op, tenant, gone, args, func(scan func(into ...any) error) error {
		was = true
		return scan(new(int64))
	})
	switch {
	case err != nil:
		return Row{}, err
	case was:
		return Row{}, expired()
	}
	return Row{}, notFound(op, op)
}

func getRow(tx *database.Tx, tenant, id, lock string) (row Row, err error) {
	there := false
	err = tx.List(selectRow+lock, []any{tenant, id}, func(scan func(into ...any) error) error {
		there = true
		row, err = scanRow(scan)
		return err
	})
	if err == nil && !there {
		err = notFound("conversation", "conversation")
	}
	return row, err
}

// List implements [Rows].
func (s *SQLRows) List(ctx context.Context, tenant string, q Query) (list []Row, err error) {
	more, order, args := "", ` ORDER BY created DESC, id DESC`, []any{tenant, q.Archived}
	if q.User != nil {
		more, args = more+` AND person = ?`, append(args, *q.User)
	}
	if q.Agent != "" {
		more, args = more+` AND agent = ?`, append(args, q.Agent)
	}
	switch idle := !q.Unchanged.IsZero(); {
	case idle && q.ID != "":
		more, order = more+` AND updated < ? AND (updated, id) > (?, ?)`, ` ORDER BY updated, id`
		args = append(args, q.Unchanged.UnixMicro(), q.Updated.UnixMicro(), q.ID)
	case idle:
		more, order = more+` AND updated < ?`, ` ORDER BY updated, id`
		args = append(args, q.Unchanged.UnixMicro())
	case q.ID != "":
		more += ` AND (created, id) < (?, ?)`
		args = append(args, q.Created.UnixMicro(), q.ID)
	}
	limit := int64(q.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	// Lists never show a fork's history, which may be large.
	columns := strings.Replace(rowColumns, " history,", " NULL,", 1)
	err = s.db.Read(ctx, "conversations", tenant, func(tx *database.Tx) error {
		list = nil
		text := `SELECT ` + columns + ` FROM conversation WHERE tenant = ? AND archived = ?` + more + order + ` LIMIT ?`
		return tx.List(text, append(args, limit), func(scan func(into ...any) error) error {
			row, err := scanRow(scan)
			list = append(list, row)
			return err
		})
	})
	return list, err
}

// Change implements [Rows].
func (s *SQLRows) Change(ctx context.Context, tenant, id string, change func(*Row) error) (row Row, err error) {
	const op = "conversation"
	err = s.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		old, err := getRow(tx, tenant, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		row = old.copied()
		if err := change(&row); err != nil {
			return err
		}
		row.Tenant, row.ID, row.Created = old.Tenant, old.ID, old.Created
		values, err := row.values()
		if err != nil {
			return database.Damaged(op, err)
		}
		_, err = tx.Exec(`UPDATE conversation SET (`+rowColumns+`) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			WHERE tenant = ? AND id = ?`, append(values, tenant, id)...)
		return err
	})
	if err != nil {
		return Row{}, err
	}
	return row, nil
}

var _ entitler = (*SQLRows)(nil)

// entitle implements [entitler].
func (s *SQLRows) entitle(ctx context.Context, key ConversationKey, title string) (kept string, err error) {
	const op = "conversation"
	created, err := strconv.ParseInt(key.Life, 36, 64)
	if err != nil {
		return "", notFound(op, "conversation")
	}
	err = s.db.WriteSoon(ctx, op, key.Tenant, func(tx *database.Tx) error {
		kept = title
		n, err := tx.Exec(`UPDATE conversation SET title = ?, updated = ? WHERE tenant = ? AND id = ? AND created = ? AND title = ''`,
			title, time.Now().UnixMicro(), key.Tenant, key.ID, created)
		if err != nil || n > 0 {
			return err
		}
		there, err := tx.Get(`SELECT title FROM conversation WHERE tenant = ? AND id = ? AND created = ?`,
			[]any{key.Tenant, key.ID, created}, &kept)
		if err == nil && !there {
			err = notFound(op, "conversation")
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return kept, nil
}

const deleteRow = `DELETE FROM conversation WHERE tenant = ? AND id = ? AND created = ?`

// Delete implements [Rows].
func (s *SQLRows) Delete(ctx context.Context, tenant, id string, made time.Time) error {
	const op = "conversation"
	return s.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		n, err := tx.Exec(deleteRow, tenant, id, made.UnixMicro())
		if err == nil && n == 0 {
			err = notFound(op, "conversation")
		}
		if err == nil {
			_, err = tx.Exec(`DELETE FROM expired WHERE tenant = ? AND id = ?`, tenant, id)
		}
		return err
	})
}

// Expire implements [Rows].
func (s *SQLRows) Expire(ctx context.Context, tenant, id string, made, at time.Time) error {
	const op = "conversation"
	return s.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		_, err := tx.Exec(`DELETE FROM expired WHERE tenant = ? AND at < ?`, tenant, at.Add(-remembered).UnixMicro())
		if err == nil {
			_, err = tx.Exec(`INSERT INTO expired (tenant, id, at, person)
				SELECT tenant, id, ?, person FROM conversation WHERE tenant = ? AND id = ? AND created = ?
				ON CONFLICT (tenant, id) DO UPDATE SET at = excluded.at, person = excluded.person`, at.UnixMicro(), tenant, id, made.UnixMicro())
		}
		if err != nil {
			return err
		}
		n, err := tx.Exec(deleteRow, tenant, id, made.UnixMicro())
		if err == nil && n == 0 {
			err = notFound(op, "conversation")
		}
		return err
	})
}

// Scrub removes deleted data from the database's files.
func (s *SQLRows) Scrub(ctx context.Context) error { return s.db.Scrub(ctx) }

// Close implements [Rows].
func (s *SQLRows) Close() error { return s.close() }

func (r *Row) values() ([]any, error) {
	var metadata, history any
	if len(r.Metadata) > 0 {
		b, err := json.Marshal(r.Metadata)
		if err != nil {
			return nil, err
		}
		metadata = string(b)
	}
	if len(r.History) > 0 {
		b, err := json.Marshal(r.History)
		if err != nil {
			return nil, err
		}
		history = string(b)
	}
	return []any{
		r.Tenant, r.ID, r.User, r.Title, r.Archived, r.Since, r.Agent, r.AgentVersion, metadata, r.Origin, r.At, history,
		r.Created.UnixMicro(), r.Updated.UnixMicro(), r.NoFiles,
	}, nil
}

func scanRow(scan func(into ...any) error) (Row, error) {
	const op = "conversation"
	var r Row
	var metadata, history []byte
	var created, updated int64
	err := scan(&r.Tenant, &r.ID, &r.User, &r.Title, &r.Archived, &r.Since, &r.Agent, &r.AgentVersion, &metadata, &r.Origin, &r.At, &history,
		&created, &updated, &r.NoFiles)
	if err != nil {
		return Row{}, err
	}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return Row{}, database.Damaged(op, err)
		}
	}
	if len(history) > 0 {
		if err := json.Unmarshal(history, &r.History); err != nil {
			return Row{}, database.Damaged(op, err)
		}
	}
	r.Created, r.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return r, nil
}
