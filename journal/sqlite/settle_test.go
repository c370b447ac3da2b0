package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// Writes that nobody waits for soon reach the file, although nothing else is written. Then other programs see
// them, and can write.
func TestWritesThatNobodyWaitsForReachTheFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, folder, sqlite.Options{})
		ctx := t.Context()
		o, err := s.Start(ctx, journal.Run{ID: "run", Conversation: "talk"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		end := &event.Event{Header: event.Header{Conversation: "talk", Run: "run", Seq: 1, Time: time.Now()}, Body: &event.RunEnded{Status: event.RunFailed}}
		if err := s.Commit(ctx, o.Lease, journal.Batch{Events: []*event.Event{end}, Status: event.RunFailed}); err != nil {
			t.Fatal(err)
		}
		other, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for i := range 3 {
			list := []journal.MessageEntry{{MessagePlace: journal.MessagePlace{Seq: 1, Part: i}, Type: "result", Content: json.RawMessage("{}"), Time: time.Now()}}
			if err := s.KeepMessages(ctx, "run", list); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			n := 0
			if err := other.QueryRowContext(ctx, `SELECT count(*) FROM message_logs WHERE part = ?`, i).Scan(&n); err != nil || n != 1 {
				t.Errorf("another program sees %d messages: %v", n, err)
			}
			if _, err := other.ExecContext(ctx, `UPDATE store SET wall = wall`); err != nil {
				t.Errorf("another program cannot write: %v", err)
			}
		}
	})
}
