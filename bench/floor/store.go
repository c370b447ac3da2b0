package floor

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver by hand, as one would
)

// Store keeps sessions in SQLite as one would by hand: a commit is one row with the
// events as JSON, and it has reached the disk when [Store.Append] comes back. It is
// used by one goroutine at a time.
type Store struct {
	db                          *sql.DB
	conn                        *sql.Conn
	begin, commit, insert, tail *sql.Stmt
}

// OpenStore makes a store in an empty folder.
func OpenStore(folder string) (*Store, error) {
	ctx := context.Background()
	query := url.Values{"_pragma": {"journal_mode(wal)", "synchronous(full)"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(folder, "floor.db")), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	s := &Store{db: db}
	if s.conn, err = db.Conn(ctx); err == nil {
		_, err = s.conn.ExecContext(ctx, `CREATE TABLE log (session TEXT, last INTEGER, events BLOB, PRIMARY KEY (session, last))`)
	}
	for text, stmt := range map[string]**sql.Stmt{
		`BEGIN IMMEDIATE`: &s.begin, `COMMIT`: &s.commit, `INSERT INTO log VALUES (?, ?, ?)`: &s.insert,
		`SELECT events FROM log WHERE session = ? AND last >= ? ORDER BY last`: &s.tail,
	} {
		if err == nil {
			*stmt, err = s.conn.PrepareContext(ctx, text) //nolint:sqlclosecheck // it ends with its connection
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the store.
func (s *Store) Close() error {
	var err error
	if s.conn != nil {
		err = s.conn.Close()
	}
	return errors.Join(err, s.db.Close())
}

// Append writes events of a session, the last of which has the number last.
func (s *Store) Append(session string, last int64, events ...*Event) error {
	data, err := json.Marshal(events)
	if err != nil {
		return err
	}
	return s.AppendRows(session, last, [][]byte{data})
}

// AppendRows writes so many rows in one commit; the first has the number first.
func (s *Store) AppendRows(session string, first int64, rows [][]byte) error {
	ctx := context.Background()
	if _, err := s.begin.ExecContext(ctx); err != nil {
		return err
	}
	for i, data := range rows {
		if _, err := s.insert.ExecContext(ctx, session, first+int64(i), data); err != nil {
			return err
		}
	}
	_, err := s.commit.ExecContext(ctx)
	return err
}

// Load reads a session from the event with the number from on.
func (s *Store) Load(session string, from int64) (*Session, error) {
	rows, err := s.tail.QueryContext(context.Background(), session, from)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*Event
	for rows.Next() {
		var data sql.RawBytes
		var events []*Event
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &events); err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	return Load(session, all), rows.Err()
}
