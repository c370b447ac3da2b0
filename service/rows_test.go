package service_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
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
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, service.NewRows(databasetest.OpenPostgres(t, databases.Postgres(t))))
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
		if err := rows.Create(ctx, row, 0); err != nil {
			t.Fatal(err)
		}
		if err := rows.Create(ctx, row, 0); !errors.Is(err, event.ErrConflict) {
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
		if err := rows.Delete(ctx, "evil", "conv_1", at); !errors.Is(err, event.ErrNotFound) {
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
		if err := rows.Delete(ctx, "acme", "conv_1", at.Add(-time.Microsecond)); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("one of that name that was made before: %v", err)
		}
		if err := rows.Delete(ctx, "acme", "conv_1", at); err != nil {
			t.Error(err)
		}
		if _, err := rows.Get(ctx, "acme", "conv_1"); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// What has expired is known to have been there, for its tenant, for a year.
func TestRowsExpire(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		make := func(id string) {
			t.Helper()
			if err := rows.Create(ctx, service.Row{Tenant: "acme", ID: id, Created: at, Updated: at}, 0); err != nil {
				t.Fatal(err)
			}
		}
		is := func(id string, want error) {
			t.Helper()
			if _, err := rows.Get(ctx, "acme", id); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", id, err, want)
			}
		}
		make("conv_1")
		if err := rows.Expire(ctx, "evil", "conv_1", at, at); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant let it expire: %v", err)
		}
		if err := rows.Expire(ctx, "acme", "conv_1", at.Add(time.Microsecond), at); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("one of that name that was made later expired: %v", err)
		}
		is("conv_1", nil)
		if err := rows.Expire(ctx, "acme", "conv_1", at, at); err != nil {
			t.Fatal(err)
		}
		is("conv_1", event.ErrGone)
		if _, err := rows.Get(ctx, "evil", "conv_1"); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("another tenant hears of it: %v", err)
		}
		if err := rows.Expire(ctx, "acme", "conv_1", at, at); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("expired twice: %v", err)
		}
		if list, err := rows.List(ctx, "acme", service.Query{}); err != nil || len(list) != 0 {
			t.Errorf("it is listed: %v %v", list, err)
		}
		make("conv_1") // who chose the id uses it again
		is("conv_1", nil)
		if err := rows.Expire(ctx, "acme", "conv_1", at, at.AddDate(0, 1, 0)); err != nil {
			t.Fatal(err)
		}
		is("conv_1", event.ErrGone)
		make("conv_2")
		if err := rows.Expire(ctx, "acme", "conv_2", at, at.AddDate(1, 2, 0)); err != nil {
			t.Fatal(err)
		}
		is("conv_1", event.ErrNotFound)
		make("conv_2")
		if err := rows.Delete(ctx, "acme", "conv_2", at); err != nil {
			t.Fatal(err)
		}
		is("conv_2", event.ErrNotFound)
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
			if err := rows.Create(ctx, row, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Create(ctx, service.Row{Tenant: "evil", ID: "conv_99", Created: at}, 0); err != nil {
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
				if err := rows.Create(ctx, newer, 0); err != nil {
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

// A file of the first version opens: what was to begin a session still is.
func TestRowsOfBefore(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("database/sqlite/00001_conversation.sql")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "service.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), string(schema)+`; PRAGMA user_version = 1;
		INSERT INTO conversation VALUES ('acme', 'conv_1', '', '', 0, 1, NULL, '', 0, NULL, 1, 1), ('acme', 'conv_2', '', '', 0, 0, NULL, '', 0, NULL, 1, 1)`,
	); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows, err := service.OpenRows(file)
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int{"conv_1": -1, "conv_2": 0} {
			if row, err := rows.Get(t.Context(), "acme", id); err != nil || row.Since != want {
				t.Errorf("%s: %d, want %d (%v)", id, row.Since, want, err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows that were not changed since a time are listed by themselves, the one first that was not for the longest.
func TestRowsThatWereNotChanged(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		for i := range 9 {
			row := service.Row{Tenant: "acme", ID: fmt.Sprint("conv_", i), Created: at, Updated: at.Add(time.Duration(i%3) * time.Hour)}
			if err := rows.Create(t.Context(), row, 0); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		q := service.Query{Unchanged: at.Add(2 * time.Hour), Limit: 2}
		for {
			page, err := rows.List(t.Context(), "acme", q)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page {
				got = append(got, row.ID)
				q.Updated, q.ID = row.Updated, row.ID
			}
			if len(page) < 2 {
				break
			}
		}
		if diff := cmp.Diff([]string{"conv_0", "conv_3", "conv_6", "conv_1", "conv_4", "conv_7"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Rows of a user are found and listed by that user alone, also once they have expired.
func TestRowsOfUsers(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		for i, user := range []string{"ann", "bob", "", "ann"} {
			made := at.Add(time.Duration(i) * time.Second)
			row := service.Row{Tenant: "acme", ID: fmt.Sprintf("conv_%d", i), User: user, Agent: "agent-" + user, Created: made, Updated: made}
			if err := rows.Create(ctx, row, 0); err != nil {
				t.Fatal(err)
			}
		}
		find := func(tenant, user, id string, want error) {
			t.Helper()
			if row, err := rows.Find(ctx, tenant, user, id); !errors.Is(err, want) || err == nil && row.ID != id {
				t.Errorf("%q of %q finds in %s %+v, %v, want %v", id, user, tenant, row, err, want)
			}
		}
		find("acme", "ann", "conv_0", nil)
		find("acme", "", "conv_0", nil)
		find("acme", "bob", "conv_0", event.ErrNotFound)
		find("acme", "Ann", "conv_0", event.ErrNotFound)
		find("acme", "bob", "conv_2", event.ErrNotFound) // which is nobody's
		find("evil", "ann", "conv_0", event.ErrNotFound)
		list := func(q service.Query) (ids string) {
			t.Helper()
			found, err := rows.List(ctx, "acme", q)
			if err != nil {
				t.Error(err)
			}
			for i := range found {
				ids += " " + found[i].ID
			}
			return ids
		}
		ann, nobody := "ann", ""
		for name, c := range map[string]struct {
			q    service.Query
			want string
		}{
			"all":                {service.Query{}, " conv_3 conv_2 conv_1 conv_0"},
			"ann's":              {service.Query{User: &ann}, " conv_3 conv_0"},
			"ann's, one":         {service.Query{User: &ann, Limit: 1}, " conv_3"},
			"ann's, the next":    {service.Query{User: &ann, Created: at.Add(3 * time.Second), ID: "conv_3"}, " conv_0"},
			"nobody's":           {service.Query{User: &nobody}, " conv_2"},
			"an agent's":         {service.Query{Agent: "agent-bob"}, " conv_1"},
			"both":               {service.Query{User: &ann, Agent: "agent-bob"}, ""},
			"ann's, unchanged":   {service.Query{User: &ann, Unchanged: at.Add(time.Second)}, " conv_0"},
			"unchanged, further": {service.Query{User: &ann, Unchanged: at.Add(time.Hour), Updated: at, ID: "conv_0"}, " conv_3"},
		} {
			if got := list(c.q); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		if err := rows.Expire(ctx, "acme", "conv_0", at, at); err != nil {
			t.Fatal(err)
		}
		find("acme", "ann", "conv_0", event.ErrGone)
		find("acme", "", "conv_0", event.ErrGone)
		find("acme", "bob", "conv_0", event.ErrNotFound)
	})
}

// What rows take is counted while they are there.
func TestBytesOfRows(t *testing.T) {
	t.Parallel()
	bothRows(t, func(t *testing.T, rows service.Rows) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		is := func(what, tenant string, least, most int64) {
			t.Helper()
			if n, err := rows.Bytes(ctx, tenant); err != nil || n < least || n > most {
				t.Errorf("%s: %s takes %d bytes, want %d to %d: %v", what, tenant, n, least, most, err)
			}
		}
		text := func(n int) string { return strings.Repeat("x", n) }
		said := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text(100_000)}}}}
		is("nothing", "acme", 0, 0)
		for _, row := range []service.Row{
			{Tenant: "acme", ID: "conv_1", Created: at, Updated: at, Title: "title", Metadata: map[string]string{"k": text(1000)}},
			{Tenant: "acme", ID: "conv_2", Created: at, Updated: at, History: said},
			{Tenant: "zeta", ID: "conv_3", Created: at, Updated: at},
		} {
			if err := rows.Create(ctx, row, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Create(ctx, service.Row{Tenant: "acme", ID: "conv_2", Created: at, Updated: at, History: said}, 0); err == nil {
			t.Error("a row is made twice")
		}
		is("a fork and another", "acme", 101_000, 102_000)
		is("without anything", "zeta", 0, 0)
		if _, err := rows.Change(ctx, "acme", "conv_2", func(row *service.Row) error { row.History, row.Title = nil, text(100); return nil }); err != nil {
			t.Fatal(err)
		}
		is("a changed row", "acme", 1100, 1200)
		if err := rows.Delete(ctx, "acme", "conv_1", at); err != nil {
			t.Fatal(err)
		}
		is("a deleted row", "acme", 100, 100)
		if err := rows.Expire(ctx, "acme", "conv_2", at, at); err != nil {
			t.Fatal(err)
		}
		is("an expired row", "acme", 0, 0)
	})
}
