package database_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
)

// by runs statements in a file behind the database's back.
func by(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	done(t, err)
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	done(t, db.Close())
}

func TestFilesThatAreNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		make func(file string)
		kind event.ErrorKind
	}{
		"newer":           {func(file string) { by(t, file, `PRAGMA user_version = 99`) }, event.ErrNewer},
		"somebody else's": {func(file string) { by(t, file, `CREATE TABLE theirs (n int)`) }, event.ErrInvalid},
		"no database": {func(file string) {
			done(t, os.WriteFile(file, []byte("this is no database, it is a text of some length"), 0o600))
		}, event.ErrInvalid},
	} {
		file := filepath.Join(dir, name)
		c.make(file)
		before, err := os.ReadFile(file)
		done(t, err)
		_, err = database.OpenSQLite(file)
		refused(t, name, err, c.kind)
		if after, err := os.ReadFile(file); err != nil || c.kind == event.ErrInvalid && name != "somebody else's" && string(after) != string(before) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such rights here")
	}
	file := filepath.Join(t.TempDir(), "service.db")
	databasetest.OpenSQLite(t, file)
	for _, end := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(file + end); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s%s: %v, %v", "service.db", end, info.Mode(), err)
		}
	}
}

func contextThatIsOver(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// What a transaction has not committed was not done, on every kind of database.
func TestTransactions(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		no := &event.Error{Kind: event.ErrInvalid, Message: "no", Hint: "no"}
		write := func(err error) error {
			return db.Write(t.Context(), "write", "acme", func(tx *database.Tx) error {
				_, e := tx.Exec(tables["conversation"], "acme")
				return errors.Join(e, err)
			})
		}
		if err := write(no); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("got %v", err)
		}
		count := func() (n int) {
			t.Helper()
			done(t, db.Read(t.Context(), "read", "acme", func(tx *database.Tx) error {
				_, err := tx.Get(`SELECT count(*) FROM conversation`, nil, &n)
				return err
			}))
			return n
		}
		if n := count(); n != 0 {
			t.Errorf("there are %d rows of what failed", n)
		}
		done(t, write(nil))
		if n := count(); n != 1 {
			t.Errorf("there are %d rows", n)
		}
		ctx, cancel := contextThatIsOver(t)
		defer cancel()
		err := db.Read(ctx, "read", "acme", func(*database.Tx) error { return nil })
		if !errors.Is(err, event.ErrCancelled) {
			t.Errorf("who has given up gets %v", err)
		}
		done(t, db.Close())
		done(t, db.Close())
		err = db.Read(t.Context(), "read", "acme", func(*database.Tx) error { return nil })
		refused(t, "one that is closed", err, event.ErrUnavailable)
	})
}
