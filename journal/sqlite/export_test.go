package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/ledgerrow"
	"github.com/braidrun/braid/journal"
)

// Limit bounds the file to n pages, like a small disk. 0 means its present size, a negative n no
// bound.
func (s *Store) Limit(pages int) error {
	if pages < 0 {
		pages = 1 << 30
	}
	return s.write(context.Background(), "test limit", true, func(x *tx) error {
		_, err := x.w.conn.ExecContext(context.Background(), `PRAGMA max_page_count = `+strconv.Itoa(max(pages, 1)))
		return err
	})
}

// Integrity runs SQLite's check of the whole file, after a checkpoint.
func (s *Store) Integrity() (string, error) {
	if err := s.write(context.Background(), "test check", false, func(*tx) error { return nil }); err != nil {
		return "", err
	}
	var result string
	err := s.reader.db.QueryRow(`PRAGMA integrity_check`).Scan(&result)
	return result, err
}

// Forget drops what the writer keeps in memory.
func (s *Store) Forget() error {
	return s.write(context.Background(), "test forget", true, func(x *tx) error {
		clear(x.w.fences)
		return nil
	})
}

// Migrations returns the migrations of this version.
func Migrations() []string { return embedded() }

// Prepare migrates a file.
func Prepare(path string, migrations []string) error {
	if err := create("test prepare", path); err != nil {
		return err
	}
	db, err := connect(path, 1, true)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	return fault("test prepare", prepare(context.Background(), conn, migrations))
}

// Statements returns the distinct statements that the store has prepared.
func (s *Store) Statements() (texts []string, err error) {
	err = s.write(context.Background(), "test", true, func(x *tx) error {
		texts = slices.Collect(maps.Keys(x.w.statements))
		return nil
	})
	s.reader.mu.Lock()
	defer s.reader.mu.Unlock()
	texts = slices.AppendSeq(texts, maps.Keys(s.reader.statements))
	slices.Sort(texts)
	return slices.Compact(texts), err
}

// Plan returns the database's plan for a statement.
func (s *Store) Plan(text string) (lines []string, err error) {
	// Every parameter needs a value; any will do.
	args := make([]any, strings.Count(text, "?"))
	for n := len(args); n > 0 && strings.Contains(text, "?1"); n-- {
		if strings.Contains(text, "?"+strconv.Itoa(n)) {
			args = args[:n]
			break
		}
	}
	rows, err := s.reader.db.Query(`EXPLAIN QUERY PLAN `+text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}

const EpochGap = epochGap

// Synchronous returns the writer's synchronous setting.
func (s *Store) Synchronous() (level string, err error) {
	err = s.write(context.Background(), "test", true, func(x *tx) error {
		return x.w.conn.QueryRowContext(context.Background(), `PRAGMA synchronous`).Scan(&level)
	})
	return level, err
}

// Writing returns the number of calls that write or wait to write.
func (s *Store) Writing() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	n := len(s.writer.queue)
	if s.writer.busy {
		n++
	}
	return n
}

// Reading holds a read transaction open.
func (s *Store) Reading() (done func()) {
	s.reader.enter()
	return s.reader.leave
}

// Damage flips a bit of a stored blob.
func (s *Store) Damage(tenant string, digest []byte, offset int64) error {
	return s.write(context.Background(), "test damage", false, func(x *tx) error {
		var key, first int64
		var sum, data []byte
		if _, err := x.row(selectPiece, []any{tenant, digest, offset}, &key, &first, &sum, &data); err != nil {
			return err
		}
		data[offset-first] ^= 1
		_, err := x.exec(`UPDATE blob_piece SET data = ? WHERE blob = ? AND first = ?`, data, key, first)
		return err
	})
}

// Pieces counts the stored pieces of blobs.
func (s *Store) Pieces() (n int, err error) {
	err = s.write(context.Background(), "test pieces", true, func(x *tx) error {
		_, err := x.row(`SELECT count(*) FROM blob_piece`, nil, &n)
		return err
	})
	return n, err
}

// SumsOf is UsageSums with the plan for few matches or for many.
func (s *Store) SumsOf(q *journal.LedgerQuery, by journal.UsageBy, matches int64) (sums []journal.UsageSum, err error) {
	text, args, _ := dialect.Sums(q, by, nil, matches)
	err = s.rows(context.Background(), "test sums", text, args, func(rows *sql.Rows) error {
		var r ledgerrow.SumRow
		err := rows.Scan(r.Into()...)
		sums = append(sums, r.Sum())
		return err
	}, func() { sums = nil })
	return sums, err
}
