package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// Many drivers write at once, some with wrong batches. Each conversation has exactly the
// acknowledged events.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	const writers, commits = 64, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			conversation, run := fmt.Sprint("talk ", w), fmt.Sprint("run ", w)
			l := take(t, s, conversation, run)
			var seq int64
			for i := range commits {
				if (i+w)%5 == 0 {
					bad := kibibyte(conversation, run, seq+1)
					bad.Step, bad.Attempt, bad.Body = "t", 1, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone}
					err := s.Commit(t.Context(), l, journal.Batch{Events: []*event.Event{kibibyte(conversation, run, seq+1), func() *event.Event {
						bad.Seq++
						return bad
					}()}})
					if !errors.Is(err, event.ErrConflict) {
						t.Errorf("a step that never began ends: %v", err)
					}
				}
				if (i+w)%7 == 0 {
					// One mail exists and the other does not. The first must stay unread.
					id := fmt.Sprint(i)
					if err := s.Post(t.Context(), letter(id, run)); err != nil {
						t.Errorf("Post: %v", err)
					}
					err := s.Commit(t.Context(), l, journal.Batch{Read: []string{id, "nothing"}})
					if !errors.Is(err, event.ErrConflict) {
						t.Errorf("mail that is not there is read: %v", err)
					}
					if err := s.Commit(t.Context(), l, journal.Batch{Read: []string{id}}); err != nil {
						t.Errorf("mail that is there is read: %v", err)
					}
				}
				seq++
				put(t, s, l, kibibyte(conversation, run, seq))
			}
		})
	}
	wg.Wait()
	for w := range writers {
		events, err := s.Read(t.Context(), fmt.Sprint("talk ", w), 0, 0)
		if err != nil || len(events) != commits {
			t.Errorf("conversation %d has %d events, want %d: %v", w, len(events), commits, err)
		}
	}
	if result, err := s.Integrity(); err != nil || result != "ok" {
		t.Errorf("integrity: %s %v", result, err)
	}
}

// grab holds the file's write lock, as another program could.
func grab(t *testing.T, folder string) (let func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	let = func() {
		once.Do(func() {
			_ = conn.Close()
			_ = db.Close()
		})
	}
	t.Cleanup(let)
	return let
}

// A call that is cancelled while others write has no effect, wherever it waited.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	let := grab(t, folder)
	admit := func(ctx context.Context, id string) <-chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := s.Admit(ctx, journal.Run{ID: id, Conversation: id})
			answer <- err
		}()
		return answer
	}
	queue := func(n int) {
		t.Helper()
		for until := time.Now().Add(time.Minute); s.Writing() != n; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d calls write or wait, want %d", s.Writing(), n)
			}
		}
	}
	// The first call waits for the file. The others wait behind it.
	firstCtx, cancelFirst := context.WithCancel(t.Context())
	first := admit(firstCtx, "first")
	queue(1)
	goneCtx, cancelGone := context.WithCancel(t.Context())
	gone := admit(goneCtx, "gone")
	queue(2)
	waits := admit(t.Context(), "waits")
	queue(3)
	lateCtx, cancelLate := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelLate()
	late := admit(lateCtx, "late")
	wantKind(t, "Admit that waits too long", <-late, event.ErrTimeout)
	cancelGone()
	wantKind(t, "Admit of who gave up", <-gone, event.ErrCancelled)

	// A call that has begun is not interrupted, so its result is true.
	cancelFirst()
	let()
	if err := errors.Join(<-first, <-waits); err != nil {
		t.Error(err)
	}
	due, err := s.Due(t.Context(), 0)
	if err != nil || len(due) != 2 || due[0].ID != "first" || due[1].ID != "waits" {
		t.Errorf("due are %v, want those who did not give up: %v", due, err)
	}
}

// Drivers cannot reach the journal's connections, and readers do not wait for writers.
func TestReadingWhileWriting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	seq := history(t, s, "talk", 100)
	grab(t, folder)
	for range 10 {
		events, err := s.Read(t.Context(), "talk", 0, 0)
		if err != nil || int64(len(events)) != seq {
			t.Fatalf("%d events: %v", len(events), err)
		}
	}
}

func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	bad := "a\xff"
	for what, r := range map[string]journal.Run{
		"id": {ID: bad, Conversation: "c"}, "conversation": {ID: "a", Conversation: bad},
		"tenant": {ID: "a", Conversation: "c", Tenant: bad}, "label": {ID: "a", Conversation: "c", Metadata: map[string]string{"k": bad}},
	} {
		_, err := s.Admit(t.Context(), r)
		wantKind(t, "Admit with a bad "+what, err, event.ErrInvalid)
	}
	take(t, s, "talk", "run")
	err := s.Post(t.Context(), journal.Mail{ID: bad, Run: "run", Kind: journal.MailMessage})
	wantKind(t, "Post with a bad id", err, event.ErrInvalid)
	err = s.Post(t.Context(), journal.Mail{ID: "a", Run: "run", Kind: journal.MailMessage, Message: []event.Block{nil}})
	wantKind(t, "Post without a block", err, event.ErrInvalid)
}
