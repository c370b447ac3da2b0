package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// crash opens a copy of a store's files, as after a kill.
func crash(t testing.TB, folder string) *sqlite.Store {
	t.Helper()
	return open(t, copied(t, folder), sqlite.Options{Owner: "after the crash"})
}

// copied returns a folder with a copy of a store's files.
func copied(t testing.TB, folder string) (to string) {
	t.Helper()
	to = t.TempDir()
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, to, name, data)
	}
	return to
}

// A process that dies right after it acquired a run leaves a lost driver, also if it wrote nothing. The first
// lease may be forgotten: the same process admitted the run.
func TestDriversThatDieAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	if _, err := s.Admit(t.Context(), journal.Run{ID: "run", Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		o, err := s.Acquire(t.Context(), "run", 0)
		if err != nil || o.Run.Lost != max(i-1, 0) {
			t.Fatalf("process %d finds %d lost drivers: %v", i, o.Run.Lost, err)
		}
		folder = copied(t, folder)
		s = open(t, folder, sqlite.Options{Owner: fmt.Sprint("process ", i)})
	}
}

// Acknowledged writes are there after a crash. Others are there completely or not at all.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})

	// A run that was only started may be lost until its first commit.
	o, err := s.Start(ctx, journal.Run{ID: "run", Conversation: "talk", Tenant: "acme"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	after := crash(t, folder)
	_, err = after.Acquire(ctx, "run", 0)
	wantKind(t, "Acquire of a run that was lost", err, event.ErrNotFound)
	put(t, s, o.Lease, kibibyte("talk", "run", 1))
	after = crash(t, folder)
	again, err := after.Acquire(ctx, "run", 0)
	if err != nil || len(again.Events) != 1 || again.Run.Turn != 1 {
		t.Errorf("after the first commit: %+v: %v", again, err)
	}
	if again.Lease.Epoch < o.Lease.Epoch+sqlite.EpochGap {
		t.Errorf("the epoch after the crash is %d, and %d before it", again.Lease.Epoch, o.Lease.Epoch)
	}

	// A released lease may be lost, but never its writes.
	if err := s.Commit(ctx, o.Lease, journal.Batch{Release: true}); err != nil {
		t.Fatal(err)
	}
	if o, err = s.Acquire(ctx, "run", 1); err != nil {
		t.Fatal(err)
	}
	put(t, s, o.Lease, kibibyte("talk", "run", 2))
	if events, err := crash(t, folder).Read(ctx, "talk", 0, 0); err != nil || len(events) != 2 {
		t.Errorf("%d events: %v", len(events), err)
	}
	if _, err := s.Renew(ctx, o.Lease); err != nil {
		t.Fatal(err)
	}
	if err := s.Post(ctx, letter("a", "run")); err != nil {
		t.Fatal(err)
	}
	if o, err := crash(t, folder).Acquire(ctx, "run", 0); err != nil || len(o.Mail) != 1 {
		t.Errorf("the mail after the crash is %v: %v", o.Mail, err)
	}
}

// If Start created the run without a durable write, Admit must make it durable before it returns.
func TestAdmitWhatWasStarted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	r := journal.Run{ID: "run", Conversation: "talk", Key: "k"}
	if _, err := s.Start(ctx, r, 0); err != nil {
		t.Fatal(err)
	}
	r.ID = "again"
	if row, err := s.Admit(ctx, r); err != nil || row.ID != "run" {
		t.Fatal(row, err)
	}
	if _, err := crash(t, folder).Acquire(ctx, "run", 0); err != nil {
		t.Errorf("Acquire of a run whose admission was acknowledged: %v", err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, t.TempDir(), sqlite.Options{})
	r := journal.Run{ID: "run", Conversation: "talk", Tenant: "acme", User: "ann", Key: "k"}
	o, err := s.Start(ctx, r, 0)
	if err != nil || o.Run.Status != event.RunRunning || o.Run.Turn != 1 || o.Lease.Epoch != 1 {
		t.Fatalf("Start: %+v: %v", o, err)
	}
	put(t, s, o.Lease, kibibyte("talk", "run", 1))

	o2, err := s.Start(ctx, r, 0)
	wantKind(t, "Start of a run that is held", err, event.ErrLocked)
	if o2.Run.ID != "run" || o2.Lease != (journal.Lease{}) {
		t.Errorf("the answer is %+v, want the row and no lease", o2)
	}
	behind := journal.Run{ID: "behind", Conversation: "talk", Tenant: "acme"}
	o2, err = s.Start(ctx, behind, 0)
	wantKind(t, "Start of a run behind another", err, event.ErrLocked)
	if o2.Run.Turn != 2 || o2.Run.Status != event.RunQueued {
		t.Errorf("the row is %+v, want it queued", o2.Run)
	}
	if err := end(ctx, s, o.Lease, 1, nil); err != nil {
		t.Fatal(err)
	}
	o2, err = s.Start(ctx, r, 0)
	wantKind(t, "Start of a run that has ended", err, event.ErrConflict)
	if o2.Run.Status != event.RunCompleted {
		t.Errorf("the row is %+v, want it completed", o2.Run)
	}
	if o2, err = s.Start(ctx, behind, 0); err != nil || o2.Last != 2 || len(o2.Events) != 2 {
		t.Errorf("Start of the next run: %+v: %v", o2, err)
	}
	behind.Agent = "another"
	_, err = s.Start(ctx, behind, 0)
	wantKind(t, "Start of another run with the same id", err, event.ErrConflict)
	behind.Tenant = "zeta"
	_, err = s.Start(ctx, behind, 0)
	wantKind(t, "Start of another tenant's run", err, event.ErrNotFound)
	_, err = s.Start(ctx, journal.Run{ID: "x"}, 0)
	wantKind(t, "Start without a conversation", err, event.ErrInvalid)
}

// Many leases without a commit force the store to write them: the gap between epochs is wider than the number
// that a crash can lose.
func TestEpochsThatAreLost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	if _, err := s.Admit(ctx, journal.Run{ID: "run", Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * sqlite.EpochGap {
		o, err := s.Acquire(ctx, "run", 0)
		if err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			again, err := crash(t, folder).Acquire(ctx, "run", 0)
			if err != nil || again.Lease.Epoch <= o.Lease.Epoch {
				t.Fatalf("the epoch after the crash is %d, and %d before it: %v", again.Lease.Epoch, o.Lease.Epoch, err)
			}
		}
		if err := s.Commit(ctx, o.Lease, journal.Batch{Release: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// Leases survive closing and opening in the same process, but not in another one.
func TestOwner(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	l := take(t, s, "talk", "run")
	put(t, s, l, kibibyte("talk", "run", 1))
	shut(t, s)

	s = open(t, folder, sqlite.Options{})
	_, err := s.Acquire(ctx, "run", 0)
	wantKind(t, "Acquire in the same process", err, event.ErrLocked)
	put(t, s, l, kibibyte("talk", "run", 2))
	shut(t, s)

	s = open(t, folder, sqlite.Options{Owner: "another process"})
	if due, err := s.Due(ctx, 0); err != nil || len(due) != 1 {
		t.Errorf("due are %v: %v", due, err)
	}
	if _, err := s.Renew(ctx, l); err != nil {
		wantKind(t, "Renew of a dead process's lease", err, event.ErrLeaseLost)
	} else {
		t.Error("a dead process's lease was renewed")
	}
	err = s.Commit(ctx, l, journal.Batch{Events: []*event.Event{kibibyte("talk", "run", 3)}})
	wantKind(t, "Commit under a dead process's lease", err, event.ErrLeaseLost)
	o, err := s.Acquire(ctx, "run", 0)
	if err != nil || o.Last != 2 || o.Lease.Epoch <= l.Epoch {
		t.Errorf("Acquire: %+v: %v", o.Lease, err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	l := take(t, s, "talk", "run")

	// Each running call is either done or refused, never half.
	const calls = 64
	answers := make(chan error, 2*calls)
	for i := range calls {
		go func() {
			_, err := s.Admit(ctx, journal.Run{ID: string(rune('a' + i)), Conversation: string(rune('a' + i))})
			answers <- err
			_, err = s.Read(ctx, "talk", 0, 0)
			answers <- err
		}()
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 * calls {
		if err := <-answers; err != nil {
			wantKind(t, "a call during Close", err, event.ErrUnavailable)
		}
	}
	for what, call := range map[string]func() error{
		"Admit":   func() error { _, err := s.Admit(ctx, journal.Run{ID: "x", Conversation: "x"}); return err },
		"Start":   func() error { _, err := s.Start(ctx, journal.Run{ID: "x", Conversation: "x"}, 0); return err },
		"Acquire": func() error { _, err := s.Acquire(ctx, "run", 0); return err },
		"Commit":  func() error { return s.Commit(ctx, l, journal.Batch{Release: true}) },
		"Renew":   func() error { _, err := s.Renew(ctx, l); return err },
		"Post":    func() error { return s.Post(ctx, letter("a", "run")) },
		"Read":    func() error { _, err := s.Read(ctx, "talk", 0, 0); return err },
		"Tail":    func() error { _, err := s.Tail(ctx, "talk"); return err },
		"Due":     func() error { _, err := s.Due(ctx, 0); return err },
	} {
		wantKind(t, what+" after Close", call(), event.ErrUnavailable)
	}
	// Only the database and the lock file remain.
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
}

// Close releases the folder only after all reads and writes have ended.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	stays := func(t *testing.T, closed <-chan error) {
		t.Helper()
		select {
		case err := <-closed:
			t.Fatalf("Close did not wait: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	shutting := func(s *sqlite.Store) <-chan error {
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		return closed
	}
	t.Run("for a reader", func(t *testing.T) {
		t.Parallel()
		s := open(t, t.TempDir(), sqlite.Options{})
		done := s.Reading()
		closed := shutting(s)
		stays(t, closed)
		done()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	t.Run("for a writer", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		s := open(t, folder, sqlite.Options{})
		let := grab(t, folder)
		admitted := make(chan error, 1)
		go func() {
			_, err := s.Admit(t.Context(), journal.Run{ID: "run", Conversation: "talk"})
			admitted <- err
		}()
		for s.Writing() == 0 {
			time.Sleep(time.Millisecond)
		}
		closed := shutting(s)
		stays(t, closed)
		let()
		if err := errors.Join(<-admitted, <-closed); err != nil {
			t.Fatal(err)
		}
		s = open(t, folder, sqlite.Options{})
		if due, err := s.Due(t.Context(), 0); err != nil || len(due) != 1 {
			t.Errorf("due are %v: %v", due, err)
		}
	})
}
