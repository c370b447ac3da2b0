package sqlite_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/sqlite"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(child(what))
	}
	goleak.VerifyTestMain(m)
}

// manual is a clock that the test moves.
type manual struct {
	mu  sync.Mutex
	now time.Time
}

func newManual() *manual { return &manual{now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)} }

func (c *manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manual) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// open opens a store until the end of the test.
func open(t testing.TB, folder string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(folder, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// made holds the files of an empty store, because creating the tables takes as long as most tests.
var made = sync.OnceValues(func() (files map[string][]byte, err error) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// fresh returns a folder with an empty store.
func fresh(t *testing.T) string {
	t.Helper()
	files, err := made()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sqlite.Options{
		"plain": {}, "term of a minute": {Term: time.Minute}, "relaxed": {Relaxed: true},
	} {
		if race.On && name != "plain" {
			continue // make test-long runs the others
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journaltest.Run(t, func(t *testing.T) journaltest.Harness {
				folder, c := fresh(t), newManual()
				o := o
				o.Now = c.Now
				s := open(t, folder, o)
				return journaltest.Harness{
					Store: s, Term: o.Term, Advance: c.Advance,
					Reopen: func() journal.Journal {
						shut(t, s)
						s = open(t, folder, o)
						return s
					},
				}
			})
		})
	}
	if race.On {
		return
	}
	t.Run("the system's clock", func(t *testing.T) {
		t.Parallel()
		journaltest.Run(t, func(t *testing.T) journaltest.Harness {
			return journaltest.Harness{Store: open(t, fresh(t), sqlite.Options{})}
		})
	})
}
