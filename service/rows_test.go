package service_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

func bothRows(t *testing.T, run func(t *testing.T, rows service.Rows)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		run(t, &service.MemoryRows{})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rows, err := service.OpenRows(filepath.Join(t.TempDir(), "service.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}()
		run(t, rows)
	})
}

func TestRows(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 12, 0, 0, 1000, time.UTC)
		row := service.Row{
			Tenant: "acme", ID: "conv_1", User: "ann", Title: "A <title>", Metadata: map[string]string{"k": "v"}, Origin: "conv_0", At: 7,
			History: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "before"}}}}, Created: at, Updated: at,
		}
		if err := rows.Create(ctx, row); err != nil {
			t.Fatal(err)
		}
		if err := rows.Create(ctx, row); !errors.Is(err, event.ErrConflict) {
			t.Errorf("made twice: %v", err)
		}
		got, err := rows.Get(ctx, "acme", "conv_1")
		if diff := cmp.Diff(row, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		// Another tenant's is not there, whatever is done with it.
		if _, err := rows.Get(ctx, "evil", "conv_1"); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant got it: %v", err)
		}
		if _, err := rows.Change(ctx, "evil", "conv_1", func(*service.Row) error { return nil }); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant changed it: %v", err)
		}
		if err := rows.Delete(ctx, "evil", "conv_1"); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant deleted it: %v", err)
		}
		no := errors.New("no")
		if _, err := rows.Change(ctx, "acme", "conv_1", func(row *service.Row) error { row.Title = "x"; return no }); !errors.Is(err, no) {
			t.Errorf("got %v", err)
		}
		changed, err := rows.Change(ctx, "acme", "conv_1", func(row *service.Row) error {
			row.Title, row.Archived, row.ID, row.Tenant = "new", true, "other", "evil"
			row.Metadata["k"] = "w"
			return nil
		})
		if err != nil || changed.Title != "new" || !changed.Archived || changed.ID != "conv_1" || changed.Tenant != "acme" || changed.Metadata["k"] != "w" {
			t.Errorf("%+v: %v", changed, err)
		}
		if err := rows.Delete(ctx, "acme", "conv_1"); err != nil {
			t.Error(err)
		}
		if _, err := rows.Get(ctx, "acme", "conv_1"); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

func TestRowsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		for i := range 25 {
			// Some are made in the same instant.
			row := service.Row{Tenant: "acme", ID: fmt.Sprintf("conv_%02d", i), Created: at.Add(time.Duration(i/3) * time.Second), Archived: i%5 == 4, History: []event.Message{{Role: event.RoleUser}}}
			if err := rows.Create(ctx, row); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Create(ctx, service.Row{Tenant: "evil", ID: "conv_99", Created: at}); err != nil {
			t.Fatal(err)
		}
		for _, archived := range []bool{false, true} {
			var seen []string
			q := service.Query{Archived: archived, Limit: 4}
			for {
				page, err := rows.List(ctx, "acme", q)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				// What is made meanwhile moves no page.
				newer := service.Row{Tenant: "acme", ID: fmt.Sprintf("conv_x%v%d", archived, len(seen)), Created: at.Add(time.Hour), Archived: archived}
				if err := rows.Create(ctx, newer); err != nil {
					t.Fatal(err)
				}
				for _, row := range page {
					if row.History != nil {
						t.Errorf("the list tells the history of %s", row.ID)
					}
					seen = append(seen, row.ID)
					q.Created, q.ID = row.Created, row.ID
				}
			}
			if want := map[bool]int{false: 20, true: 5}[archived]; len(seen) != want {
				t.Fatalf("archived %v: %d rows, want %d", archived, len(seen), want)
			}
			for i := range seen[1:] {
				if seen[i] <= seen[i+1] {
					t.Errorf("%s stands before %s", seen[i], seen[i+1])
				}
			}
		}
	})
}

func TestRowsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(t *testing.T, file string)
		want event.ErrorKind
	}{
		{"another file", func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte("this is no database, it is a text of some length"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, event.ErrInvalid},
		{"a folder", func(t *testing.T, file string) {
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, event.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "service.db")
			c.make(t, file)
			if _, err := service.OpenRows(file); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
