package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Open opens the journal in the folder, and creates both if they do not exist. It locks the folder until Close.
//
// The error is ErrConflict if another process has the folder, ErrNewer if a newer version of Braid wrote it,
// ErrPermission if it cannot be read or written, ErrStorageFull without space, ErrInvalid if the file is not a
// journal, and ErrInternal if it is damaged.
func Open(folder string, options Options) (*Store, error) {
	const op = "journal open"
	if folder == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the journal has no folder", Hint: "name the folder for the data",
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, folderFault(op, err)
	}
	lock, err := lockFolder(op, filepath.Join(folder, lockName))
	if err != nil {
		return nil, err
	}
	s := &Store{term: options.Term, lock: lock}
	if s.term <= 0 {
		s.term = journal.DefaultTerm
	}
	path := filepath.Join(folder, fileName)
	if err = create(op, path); err == nil {
		err = fault(op, s.open(path, &options))
	}
	if err != nil {
		_ = lock.release()
		return nil, err
	}
	return s, nil
}

// create makes the file for its owner alone if there is none. SQLite gives its other files the same mode.
func create(op, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) //nolint:gosec // the folder is the caller's
	switch {
	case errors.Is(err, fs.ErrExist):
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return noFile(op)
		}
		return nil
	case err != nil:
		return folderFault(op, err)
	default:
		return f.Close()
	}
}

func (s *Store) open(path string, options *Options) (err error) {
	ctx := context.Background()
	db, err := connect(path, 1, true)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := prepare(ctx, conn, embedded()); err != nil {
		return err
	}
	if err := s.own(ctx, conn, options); err != nil {
		return err
	}
	reader, err := newReader(ctx, path)
	if err != nil {
		return err
	}
	w, err := newWriter(ctx, db, conn, s.clock, options.Relaxed)
	if err != nil {
		return errors.Join(err, reader.close())
	}
	s.reader, s.writer = reader, w
	return nil
}

// own makes the file this process's own, which voids the leases of another owner. It also sets the clock.
func (s *Store) own(ctx context.Context, conn *sql.Conn, options *Options) error {
	owner := options.Owner
	if owner == "" {
		owner = processOwner()
	}
	now := options.Now
	if now == nil {
		now = time.Now
	}
	var before string
	var steady, wall int64
	err := conn.QueryRowContext(ctx, `SELECT owner, generation, clock, wall FROM store WHERE key = 1`).
		Scan(&before, &s.generation, &steady, &wall)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if before != owner {
		s.generation++
	}
	s.clock = newClock(now, steady, wall)
	_, steady, wall = s.clock.read()
	s.began = wall
	_, err = conn.ExecContext(ctx, `INSERT INTO store (key, owner, generation, clock, wall) VALUES (1, ?1, ?2, ?3, ?4)
		ON CONFLICT (key) DO UPDATE SET owner = ?1, generation = ?2, clock = ?3, wall = ?4`,
		owner, s.generation, steady, wall)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, dropUploads)
	return err
}

// Close waits for running calls, refuses later ones and unlocks the folder. Calling it again returns the same error.
func (s *Store) Close() error {
	s.closing.Do(func() {
		// Readers first: SQLite tidies the file up with its last connection, which must be able to write.
		err := s.reader.close()
		err = errors.Join(err, s.writer.close())
		err = errors.Join(err, s.lock.release())
		s.closed = fault("journal close", err)
	})
	return s.closed
}

// processOwner is this process's default owner. It is made at its first use: the first random bytes of a process take time,
// and not every program opens a journal.
var processOwner = sync.OnceValue(func() string { return "process/" + rand.Text() })
