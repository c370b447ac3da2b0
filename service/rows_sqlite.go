package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/braidrun/braid/event"
)

// SQLiteRows are [Rows] in a file beside the journal. The data folder is locked by
// the journal, so that one process at a time writes here. Make it with [OpenRows].
type SQLiteRows struct{ db *sql.DB }

var _ Rows = (*SQLiteRows)(nil)

// rowsVersion is how many migrations a file of today has seen.
const rowsVersion = 1

// rowsSchema is the first migration. Times are microseconds since 1970.
const rowsSchema = `CREATE TABLE conversation (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	user     TEXT    NOT NULL,
	title    TEXT    NOT NULL,
	archived INTEGER NOT NULL,
	fresh    INTEGER NOT NULL,
	metadata TEXT,
	origin   TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	history  TEXT,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_created ON conversation (tenant, archived, created DESC, id DESC);
PRAGMA user_version = 1`

// OpenRows opens the file, or makes it.
func OpenRows(file string) (*SQLiteRows, error) {
	const op = "open conversations"
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, rowsFault(op, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator's own folder
	if err != nil {
		return nil, rowsFault(op, err)
	}
	if err := f.Close(); err != nil {
		return nil, rowsFault(op, err)
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	query := url.Values{"_pragma": {
		"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "journal_size_limit(16777216)",
	}, "_txlock": {"immediate"}, "mode": {"rw"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, rowsFault(op, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // one writer; reads are single rows and short pages
	if err := prepareRows(op, db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return &SQLiteRows{db: db}, nil
}

func prepareRows(op string, db *sql.DB) error {
	ctx := context.Background()
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return rowsFault(op, err)
	}
	switch {
	case version > rowsVersion:
		return &event.Error{
			Op: op, Kind: event.ErrNewer, Message: "the list of conversations was written by a newer version of this program",
			Hint: "use that version, or another data folder",
		}
	case version == rowsVersion:
		return nil
	}
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return rowsFault(op, err)
	}
	if tables > 0 {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the file where the list of conversations should be is another program's",
			Hint: "choose another data folder",
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return rowsFault(op, err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if _, err := tx.ExecContext(ctx, rowsSchema); err != nil {
		return rowsFault(op, err)
	}
	return rowsFault(op, tx.Commit())
}

const rowColumns = `tenant, id, user, title, archived, fresh, metadata, origin, at, history, created, updated`

// Create implements [Rows].
func (s *SQLiteRows) Create(ctx context.Context, row Row) error {
	const op = "conversation"
	values, err := row.values()
	if err != nil {
		return rowsFault(op, err)
	}
	r, err := s.db.ExecContext(ctx, `INSERT INTO conversation (`+rowColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, values...)
	if err != nil {
		return rowsFault(op, err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(rowsFault(op, err), exists())
	}
	return nil
}

const selectRow = `SELECT ` + rowColumns + ` FROM conversation WHERE tenant = ? AND id = ?`

// Get implements [Rows].
func (s *SQLiteRows) Get(ctx context.Context, tenant, id string) (Row, error) {
	return scanRow(s.db.QueryRowContext(ctx, selectRow, tenant, id))
}

// List implements [Rows].
func (s *SQLiteRows) List(ctx context.Context, tenant string, q Query) ([]Row, error) {
	const op = "conversations"
	after, args := "", []any{tenant, q.Archived}
	if q.ID != "" {
		after = ` AND (created, id) < (?, ?)`
		args = append(args, q.Created.UnixMicro(), q.ID)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	// A fork's history may be large, and no list tells it.
	const columns = `tenant, id, user, title, archived, fresh, metadata, origin, at, NULL, created, updated`
	//nolint:gosec // "after" is one of two constants
	rows, err := s.db.QueryContext(ctx, `SELECT `+columns+` FROM conversation WHERE tenant = ? AND archived = ?`+after+`
		ORDER BY created DESC, id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, rowsFault(op, err)
	}
	defer rows.Close()
	var list []Row
	for rows.Next() {
		row, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rowsFault(op, rows.Err())
}

// Change implements [Rows].
func (s *SQLiteRows) Change(ctx context.Context, tenant, id string, change func(*Row) error) (Row, error) {
	const op = "conversation"
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return Row{}, rowsFault(op, err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	old, err := scanRow(tx.QueryRowContext(ctx, selectRow, tenant, id))
	if err != nil {
		return Row{}, err
	}
	row := old.copied()
	if err := change(&row); err != nil {
		return Row{}, err
	}
	row.Tenant, row.ID, row.Created = old.Tenant, old.ID, old.Created
	values, err := row.values()
	if err != nil {
		return Row{}, rowsFault(op, err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE conversation SET (`+rowColumns+`) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		WHERE tenant = ? AND id = ?`, append(values, tenant, id)...); err != nil {
		return Row{}, rowsFault(op, err)
	}
	return row, rowsFault(op, tx.Commit())
}

// Delete implements [Rows].
func (s *SQLiteRows) Delete(ctx context.Context, tenant, id string) error {
	const op = "conversation"
	r, err := s.db.ExecContext(ctx, `DELETE FROM conversation WHERE tenant = ? AND id = ?`, tenant, id)
	if err != nil {
		return rowsFault(op, err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(rowsFault(op, err), notFound(op, "conversation"))
	}
	return nil
}

// Close implements [Rows].
func (s *SQLiteRows) Close() error { return rowsFault("close", s.db.Close()) }

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
		r.Tenant, r.ID, r.User, r.Title, r.Archived, r.Fresh, metadata, r.Origin, r.At, history,
		r.Created.UnixMicro(), r.Updated.UnixMicro(),
	}, nil
}

func scanRow(from interface{ Scan(into ...any) error }) (Row, error) {
	const op = "conversation"
	var r Row
	var metadata, history []byte
	var created, updated int64
	err := from.Scan(&r.Tenant, &r.ID, &r.User, &r.Title, &r.Archived, &r.Fresh, &metadata, &r.Origin, &r.At, &history, &created, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, notFound(op, "conversation")
	}
	if err != nil {
		return Row{}, rowsFault(op, err)
	}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return Row{}, damaged(op, err)
		}
	}
	if len(history) > 0 {
		if err := json.Unmarshal(history, &r.History); err != nil {
			return Row{}, damaged(op, err)
		}
	}
	r.Created, r.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return r, nil
}

func damaged(op string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Message: "a conversation's row cannot be read", Hint: "restore a backup of the data folder", Err: err,
	}
}

// The codes of SQLite that say something of their own to a person.
const (
	sqliteReadOnly = 8
	sqliteIO       = 10
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNoDB     = 26
)

// rowsFault says in our words what went wrong in SQLite; nil stays nil.
func rowsFault(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the list of conversations cannot be used", Hint: "check the disk, then try again",
		Err: err,
	}
	if errors.Is(err, context.Canceled) {
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the request was given up", ""
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the list of conversations did not answer in time", "try again"
	}
	if s, ok := errors.AsType[*sqlite.Error](err); ok {
		switch s.Code() & 0xff {
		case sqliteFull:
			e.Kind, e.Message, e.Hint = event.ErrStorageFull, "there is no space left", "free some, then try again"
		case sqliteReadOnly, sqliteCantOpen:
			e.Kind, e.Message = event.ErrPermission, "the list of conversations cannot be opened or written"
			e.Hint = "let the user that runs this program read and write the data folder"
		case sqliteNoDB:
			e.Kind, e.Message, e.Hint = event.ErrInvalid, "the list of conversations is no database", "choose another data folder"
		case sqliteIO:
			e.Message = "the disk gave an error"
		}
	}
	return e
}
