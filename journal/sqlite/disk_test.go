package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

func write(t testing.TB, folder, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fillUp writes to a store until it has no space, and then checks that everything else still works.
// more makes space.
func fillUp(s *sqlite.Store, more func() error) error {
	ctx := context.Background()
	if _, err := s.Admit(ctx, journal.Run{ID: "run", Conversation: "talk"}); err != nil {
		return err
	}
	if _, err := s.Admit(ctx, journal.Run{ID: "other", Conversation: "other talk"}); err != nil {
		return err
	}
	o, err := s.Acquire(ctx, "run", 0)
	if err != nil {
		return err
	}
	var seq int64
	batch := func() journal.Batch {
		b := journal.Batch{}
		for i := range int64(8) {
			b.Events = append(b.Events, kibibyte("talk", "run", seq+1+i))
		}
		return b
	}
	for ; ; seq += 8 {
		if seq > 100_000 {
			return errors.New("the disk does not fill up")
		}
		err := s.Commit(ctx, o.Lease, batch())
		if errors.Is(err, event.ErrStorageFull) {
			break
		}
		if err != nil {
			return fmt.Errorf("the error is of kind %s, not storage_full: %w", event.KindOf(err), err)
		}
	}
	// The next call is refused without a trace. Reads and leases still work.
	for range 3 {
		if err := s.Commit(ctx, o.Lease, batch()); !errors.Is(err, event.ErrStorageFull) {
			return fmt.Errorf("Commit on a full disk: %w", err)
		}
		if _, err := s.Renew(ctx, o.Lease); err != nil {
			return fmt.Errorf("Renew on a full disk: %w", err)
		}
		events, err := s.Read(ctx, "talk", 0, 0)
		if err != nil || int64(len(events)) != seq {
			return fmt.Errorf("reading on a full disk: %d events of %d: %w", len(events), seq, err)
		}
		if due, err := s.Due(ctx, 0); err != nil || len(due) != 1 || due[0].ID != "other" {
			return fmt.Errorf("due on a full disk: %v: %w", due, err)
		}
	}
	if _, err := s.Acquire(ctx, "other", 0); err != nil {
		return fmt.Errorf("Acquire on a full disk: %w", err)
	}
	if err := more(); err != nil {
		return err
	}
	// The same driver continues with the same lease.
	if err := s.Commit(ctx, o.Lease, batch()); err != nil {
		return fmt.Errorf("Commit when there is space again: %w", err)
	}
	if result, err := s.Integrity(); err != nil || result != "ok" {
		return fmt.Errorf("integrity: %s: %w", result, err)
	}
	events, err := s.Read(ctx, "talk", 0, 0)
	if err != nil || int64(len(events)) != seq+8 {
		return fmt.Errorf("%d events, want %d: %w", len(events), seq+8, err)
	}
	return nil
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	if err := s.Limit(100); err != nil {
		t.Fatal(err)
	}
	if err := fillUp(s, func() error { return s.Limit(-1) }); err != nil {
		t.Error(err)
	}
}

// A call without space must not fail the calls that wait beside it.
func TestFullForOneOnly(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	const talks = 32
	leases := make([]journal.Lease, talks)
	for i := range leases {
		leases[i] = take(t, s, fmt.Sprint("talk ", i), fmt.Sprint("run ", i))
	}
	if err := s.Limit(0); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, talks)
	for i, l := range leases {
		go func() {
			b := journal.Batch{Release: true} // this needs no page
			if i%4 == 0 {
				b.Events = []*event.Event{{
					Header: event.Header{Seq: 1, Conversation: l.Conversation, Run: l.Run},
					Body:   &event.Notice{Code: "n", Text: string(bytes.Repeat([]byte("x"), 1<<16))},
				}}
			}
			err := s.Commit(context.Background(), l, b)
			if full := errors.Is(err, event.ErrStorageFull); full != (i%4 == 0) {
				errs <- fmt.Errorf("commit %d: %w", i, err)
				return
			}
			errs <- nil
		}()
	}
	for range leases {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestUnusableFolder(t *testing.T) {
	t.Parallel()
	refused := func(name string, kind event.ErrorKind, make func(t *testing.T, folder string) string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := make(t, t.TempDir())
			before := content(t, folder)
			s, err := sqlite.Open(folder, sqlite.Options{})
			if err == nil {
				shut(t, s)
			}
			wantKind(t, "Open", err, kind)
			if after := content(t, folder); !bytes.Equal(before, after) {
				t.Error("the file was changed all the same")
			}
			// The folder is released.
			_, err = sqlite.Open(folder, sqlite.Options{})
			wantKind(t, "Open once more", err, kind)
		})
	}
	refused("no name", event.ErrInvalid, func(*testing.T, string) string { return "" })
	refused("a file", event.ErrUnavailable, func(t *testing.T, folder string) string {
		write(t, folder, "file", nil)
		return filepath.Join(folder, "file")
	})
	refused("no SQLite file", event.ErrInvalid, func(t *testing.T, folder string) string {
		write(t, folder, "journal.db", bytes.Repeat([]byte("This is a letter to my mother. "), 1000))
		return folder
	})
	refused("another program's database", event.ErrInvalid, func(t *testing.T, folder string) string {
		execute(t, folder, `CREATE TABLE recipe (id INTEGER, text TEXT)`, `INSERT INTO recipe VALUES (1, 'soup')`)
		return folder
	})
	refused("another program's mark", event.ErrInvalid, func(t *testing.T, folder string) string {
		execute(t, folder, `PRAGMA application_id = 7`)
		return folder
	})
	refused("a newer version", event.ErrNewer, func(t *testing.T, folder string) string {
		shut(t, open(t, folder, sqlite.Options{}))
		execute(t, folder, `PRAGMA user_version = 99`)
		return folder
	})
	refused("a file that was cut short", event.ErrInternal, func(t *testing.T, folder string) string {
		s := open(t, folder, sqlite.Options{})
		history(t, s, "talk", 500)
		shut(t, s)
		if err := os.Truncate(filepath.Join(folder, "journal.db"), 5000); err != nil {
			t.Fatal(err)
		}
		return folder
	})
	refused("a folder in its place", event.ErrInvalid, func(t *testing.T, folder string) string {
		if err := os.Mkdir(filepath.Join(folder, "journal.db"), 0o700); err != nil {
			t.Fatal(err)
		}
		return folder
	})
}

func content(t *testing.T, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "journal.db"))
	if err != nil {
		return nil
	}
	return data
}

// A newer version's file is refused with both versions in the message.
func TestNewerInWords(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	shut(t, open(t, folder, sqlite.Options{}))
	execute(t, folder, `PRAGMA user_version = 99`)
	_, err := sqlite.Open(folder, sqlite.Options{})
	want := fmt.Sprintf("journal open: the journal was written by a newer version of Braid (its schema is 99, "+
		"this version knows up to %d) (run the newer version, or restore a copy from before the upgrade)", len(sqlite.Migrations()))
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A row edited by hand breaks its own conversation and no other.
func TestEditedByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit string
		kind event.ErrorKind
		// reads is set if the log itself is still readable.
		reads bool
	}{
		"no sequence":          {`UPDATE log SET events = x'7b7d' WHERE key = 2`, event.ErrInternal, false},
		"cut off":              {`UPDATE log SET events = substr(events, 1, length(events) - 9) WHERE key = 2`, event.ErrInternal, false},
		"nothing":              {`UPDATE log SET events = x'' WHERE key = 2`, event.ErrInternal, false},
		"not JSON":             {`UPDATE log SET events = x'1e7b7d7b0a' WHERE key = 2`, event.ErrInternal, false},
		"another conversation": {`UPDATE log SET events = CAST(replace(events, '"talk"', '"tale"') AS BLOB) WHERE key = 2`, event.ErrInternal, false},
		"another seq":          {`UPDATE log SET events = CAST(replace(events, '"seq":5', '"seq":7') AS BLOB) WHERE key = 2`, event.ErrInternal, false},
		"one event less":       {`UPDATE log SET last = last + 1 WHERE key = 2`, event.ErrInternal, false},
		"huge numbers":         {`UPDATE log SET last = 9000000000000000000 WHERE key = 2`, event.ErrInternal, false},
		"a row is missing":     {`DELETE FROM log WHERE key = 2`, event.ErrInternal, false},
		"the first is missing": {`DELETE FROM log WHERE key = 1`, event.ErrInternal, false},
		"the last is missing":  {`DELETE FROM log WHERE key = 4`, event.ErrInternal, true},
		"input":                {`UPDATE run SET input = x'1e7b5b0a' WHERE id = 'last'`, event.ErrInternal, true},
		"labels":               {`UPDATE run SET metadata = '[' WHERE id = 'last'`, event.ErrInternal, true},
		"mail":                 {`UPDATE mail SET message = '[' WHERE id = 'a'`, event.ErrInternal, true},
		"steps":                {`UPDATE conversation SET steps = '[' WHERE id = 'talk'`, event.ErrInternal, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			folder := t.TempDir()
			s := open(t, folder, sqlite.Options{})
			history(t, s, "talk", 10)
			if _, err := s.Admit(ctx, journal.Run{ID: "last", Conversation: "talk", Metadata: map[string]string{"a": "b"}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Post(ctx, letter("a", "last")); err != nil {
				t.Fatal(err)
			}
			history(t, s, "good", 10)
			shut(t, s)
			execute(t, folder, c.edit)

			s = open(t, folder, sqlite.Options{})
			_, err := s.Acquire(ctx, "last", 0)
			wantKind(t, "Acquire", err, c.kind)
			_, err = s.Acquire(ctx, "last", 0)
			wantKind(t, "Acquire again: the lease was given back", err, c.kind)
			if _, err := s.Read(ctx, "talk", 0, 0); c.reads && err != nil {
				t.Errorf("Read: %v", err)
			} else if !c.reads {
				wantKind(t, "Read", err, c.kind)
			}
			if events, err := s.Read(ctx, "good", 0, 0); err != nil || len(events) != 10 {
				t.Errorf("the other conversation has %d events: %v", len(events), err)
			}
			newTurn("good", "more").play(t, s, 10)
		})
	}
}
