package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

func view(t testing.TB, folder string) *sqlite.Reader {
	t.Helper()
	r, err := sqlite.View(folder)
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// lister is the interface of both.
type lister interface {
	Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error)
	Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error)
	Tail(ctx context.Context, conversation string) (journal.Tail, error)
}

// alike checks that both list the same conversations of a tenant.
func alike(t testing.TB, got, want lister, tenant string) {
	t.Helper()
	ctx := t.Context()
	same := func(what string, got, want any, errGot, errWant error) {
		t.Helper()
		if err := errors.Join(errGot, errWant); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	list, errGot := got.Conversations(ctx, tenant, "", 0)
	wanted, errWant := want.Conversations(ctx, tenant, "", 0)
	same("conversations", list, wanted, errGot, errWant)
	for _, c := range wanted {
		a, errGot := got.Runs(ctx, c.ID, 0, 0)
		b, errWant := want.Runs(ctx, c.ID, 0, 0)
		same("runs of "+c.ID, a, b, errGot, errWant)
		x, errGot := got.Tail(ctx, c.ID)
		y, errWant := want.Tail(ctx, c.ID)
		same("tail of "+c.ID, x, y, errGot, errWant)
	}
}

// A viewer sees the owner's commits at once, and blocks nobody.
func TestViewBesideTheOwner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	r := view(t, folder)
	if list, err := r.Conversations(t.Context(), "", "", 0); err != nil || len(list) != 0 {
		t.Fatalf("an empty journal has %v: %v", list, err)
	}
	for i := range 3 {
		history(t, s, fmt.Sprint("talk", i), 10)
		alike(t, r, s, "")
		events, err := r.Read(t.Context(), fmt.Sprint("talk", i), 3, 2)
		if err != nil || len(events) != 2 || events[0].Seq != 4 {
			t.Errorf("Read after 3: %v %v", events, err)
		}
	}
	shut(t, s)
	// A viewer does not block the next owner, and sees its commits too.
	s = open(t, folder, sqlite.Options{})
	history(t, s, "talk3", 10)
	alike(t, r, s, "")
	if list, err := r.Conversations(t.Context(), "", "talk1", 1); err != nil || len(list) != 1 || list[0].ID != "talk0" {
		t.Errorf("after talk1 comes %v: %v", list, err)
	}
	_, err := r.Conversations(t.Context(), "acme", "talk1", 1)
	wantKind(t, "Conversations after another tenant's", err, event.ErrNotFound)
}

// contents returns the folder's files without SQLite's shared memory.
func contents(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 || !strings.HasSuffix(e.Name(), "-wal") {
			all[e.Name()] = string(data)
		}
	}
	return all
}

// Viewing a closed journal changes no file.
func TestViewChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	history(t, s, "talk", 10)
	shut(t, s)
	before := contents(t, folder)
	r := view(t, folder)
	if list, err := r.Conversations(t.Context(), "", "", 0); err != nil || len(list) != 1 || list[0].Last == 0 {
		t.Errorf("there are %v: %v", list, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := contents(t, folder); !cmp.Equal(before, after) {
		t.Error("the journal is not what it was")
	}
	_, err := r.Read(t.Context(), "talk", 0, 0)
	wantKind(t, "Read after Close", err, event.ErrUnavailable)
	_, err = r.Conversations(t.Context(), "", "", 0)
	wantKind(t, "Conversations after Close", err, event.ErrUnavailable)
}

// A viewer sees everything acknowledged while another process writes, and after that process was
// killed.
func TestViewOfAnotherProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := start(t, "write", folder)
	p.next()
	told := nothingYet()
	look := func(r *sqlite.Reader) {
		t.Helper()
		for conversation, seq := range told.logs {
			events, err := r.Read(t.Context(), conversation, 0, 0)
			if err != nil || int64(len(events)) < seq {
				t.Errorf("event %d of %s was acknowledged, and %d are seen: %v", seq, conversation, len(events), err)
			}
		}
		for run, conversation := range told.runs {
			runs, err := r.Runs(t.Context(), conversation, 0, 0)
			if err != nil || !slices.ContainsFunc(runs, func(o journal.Run) bool { return o.ID == run }) {
				t.Errorf("run %s was acknowledged and is not seen: %v", run, err)
			}
		}
	}
	r := view(t, folder)
	for range 10 {
		for range 20 {
			told.take(p.next())
		}
		look(r)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for p.lines.Scan() {
		told.take(p.lines.Text())
	}
	_ = p.cmd.Wait()
	before := contents(t, folder)
	look(r)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	r = view(t, folder)
	look(r)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := contents(t, folder); !cmp.Equal(before, after) {
		t.Error("looking at what a dead process left has changed it")
	}
	// The next owner finds all of it too.
	s := open(t, folder, sqlite.Options{})
	told.look(t, s)
}

func TestViewRefuses(t *testing.T) {
	t.Parallel()
	all := sqlite.Migrations()
	for _, c := range []struct {
		name string
		kind event.ErrorKind
		make func(t *testing.T, folder string)
	}{
		{"no folder", event.ErrNotFound, func(t *testing.T, folder string) {
			if err := os.Remove(folder); err != nil {
				t.Fatal(err)
			}
		}},
		{"an empty folder", event.ErrNotFound, func(*testing.T, string) {}},
		{"an empty file", event.ErrNotFound, func(t *testing.T, folder string) { write(t, folder, "journal.db", nil) }},
		{"no database", event.ErrInvalid, func(t *testing.T, folder string) {
			write(t, folder, "journal.db", []byte(strings.Repeat("not a database. ", 100)))
		}},
		{"another program's", event.ErrInvalid, func(t *testing.T, folder string) {
			write(t, folder, "journal.db", nil)
			execute(t, folder, `CREATE TABLE recipe (name TEXT)`)
		}},
		{"a folder where the file should be", event.ErrInvalid, func(t *testing.T, folder string) {
			if err := os.Mkdir(filepath.Join(folder, "journal.db"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := sqlite.Open(folder, sqlite.Options{})
			wantKind(t, "Open", err, event.ErrInvalid)
		}},
		{"an older version's", event.ErrUnsupported, func(t *testing.T, folder string) {
			if err := sqlite.Prepare(filepath.Join(folder, "journal.db"), all[:len(all)-1]); err != nil {
				t.Fatal(err)
			}
		}},
		{"a newer version's", event.ErrNewer, func(t *testing.T, folder string) {
			if err := sqlite.Prepare(filepath.Join(folder, "journal.db"), append(slices.Clip(all), `SELECT 1`)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			c.make(t, folder)
			_, err := sqlite.View(folder)
			wantKind(t, "View", err, c.kind)
		})
	}
	_, err := sqlite.View("")
	wantKind(t, "View of no name", err, event.ErrInvalid)
}
