package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// holding counts the occurrences of a text in a folder, by file.
func holding(t *testing.T, folder, text string) map[string]int {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(data, []byte(text)); n > 0 {
			found[f.Name()] = n
		}
	}
	return found
}

// After a scrub no file has any removed text, however the rows were laid out, while the store is open and other
// rows stay.
func TestScrub(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, seed := range []uint64{1, 2, 3} {
		folder := t.TempDir()
		s := open(t, folder, sqlite.Options{Relaxed: true})
		random := rand.New(rand.NewPCG(seed, 0))
		var list []string
		for i := range 150 {
			tenant, word := "one", "CANARY-OF-ONE"
			if i%3 == 2 {
				tenant, word = "two", "CANARY-OF-TWO"
			}
			conv, run := fmt.Sprintf("%s-talk-%x", tenant, random.Uint64()), fmt.Sprintf("%s-run-%x", tenant, random.Uint64())
			text := strings.Repeat(word+" ", 1+random.IntN(600))
			o, err := s.Start(ctx, journal.Run{
				ID: run, Conversation: conv, Tenant: tenant, User: word, Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}}, Incarnation: "life",
				Metadata: map[string]string{"label": text[:min(len(text), 1000)]},
			}, 0)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, o.Lease, kibibyte(conv, run, 1))
			if err := end(ctx, s, o.Lease, 1, nil); err != nil {
				t.Fatal(err)
			}
			content, _ := json.Marshal(text)
			if err := s.KeepMessages(ctx, run, []journal.MessageEntry{{MessagePlace: journal.MessagePlace{Seq: 1}, Type: "user", Content: content}}); err != nil {
				t.Fatal(err)
			}
			if tenant == "one" {
				list = append(list, conv)
			}
		}
		if len(holding(t, folder, "CANARY-OF-ONE")) == 0 {
			t.Fatal("nothing was written in clear: the test tests nothing")
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, conv := range list {
			if err := s.Tombstone(ctx, "one", conv, "life"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Scrub(ctx); err != nil {
			t.Fatal(err)
		}
		if found := holding(t, folder, "CANARY-OF-ONE"); len(found) > 0 {
			t.Errorf("it stands in %v", found)
		}
		if len(holding(t, folder, "CANARY-OF-TWO")) == 0 {
			t.Error("another tenant's rows went, too")
		}
	}
}

// A long read of the file, such as a copy, delays a scrub. A later scrub does its work.
func TestScrubWithAReader(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{Relaxed: true})
	put(t, s, take(t, s, "talk", "run"), kibibyte("talk", "run", 1))
	db, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reads, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := reads.QueryRowContext(ctx, `SELECT count(*) FROM run`).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	put(t, s, take(t, s, "another", "next"), kibibyte("another", "next", 1))
	wantKind(t, "Scrub beside a reader", s.Scrub(ctx), event.ErrLocked)
	put(t, s, take(t, s, "third", "last"), kibibyte("third", "last", 1))
	if err := reads.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "journal.db-wal")); err != nil || info.Size() != 0 {
		t.Errorf("the write-ahead log after a scrub: %v %v", info, err)
	}
}
