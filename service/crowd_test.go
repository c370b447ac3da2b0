package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// What a turn, a page and a sweep read of the service's own database does not grow with the conversations of
// the tenant, whether the database has counted them or not.
func TestRowsOfACrowd(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	many := 100_000
	if race.On || testing.Short() {
		many = 5_000
	}
	look := databases.Login(t, postgrestest.Superuser, o)
	ask := func(statement string, into ...any) {
		t.Helper()
		var err error
		if len(into) == 0 {
			_, err = look.Exec(t.Context(), statement)
		} else {
			err = look.QueryRow(t.Context(), statement).Scan(into...)
		}
		if err != nil {
			t.Fatal(statement, err)
		}
	}
	// One row is counted for all of them, which a trigger for each of so many would take long for.
	ask(`ALTER TABLE conversation DISABLE TRIGGER conversation_counted`)
	ask(fmt.Sprintf(`INSERT INTO conversation_count VALUES ('acme', %d)`, many))
	ask(fmt.Sprintf(`INSERT INTO conversation (tenant, id, person, title, archived, since, agent, agent_version, origin, at, created, updated)
		SELECT 'acme', 'conv_' || i, 'ann', 'A title', i %% 10 = 0, 0, '', 0, '', 0, 1000000 + i, 1000000 + i FROM generate_series(1, %d) i`, many))
	ask(`ALTER TABLE conversation ENABLE TRIGGER conversation_counted`)
	ask(fmt.Sprintf(`INSERT INTO expired (tenant, id, at) SELECT 'acme', 'gone_' || i, 9000000000000000 + i FROM generate_series(1, %d) i`, many))
	ask(fmt.Sprintf(`INSERT INTO idempotency (tenant, key, digest, object, created)
		SELECT 'acme', 'key ' || i, '', '', 9000000000000000 + i FROM generate_series(1, %d) i`, many))
	name := strings.ReplaceAll(o.Schema, " ", "_")
	o.URL += "&application_name=" + name
	o.Connections = 1
	counted := func() (rows int64) {
		t.Helper()
		for open := 1; open > 0; { // what a connection has counted is told when it has ended
			ask(`SELECT count(*) FROM pg_stat_activity WHERE application_name = '`+name+`'`, &open)
		}
		ask(`SELECT (SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE schemaname = '`+o.Schema+`') +
			(SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE schemaname = '`+o.Schema+`')`, &rows)
		return rows
	}
	now := time.UnixMicro(2_000_000).UTC()
	round := 0
	row := func(n int) service.Row {
		return service.Row{Tenant: "acme", ID: fmt.Sprint("conv_new ", round, n), User: "ann", Created: now, Updated: now}
	}
	type call struct {
		name string
		do   func(ctx context.Context, rows *service.SQLRows, d *directory.Directory, n int) error
	}
	calls := []call{
		{"create", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, n int) error {
			return rows.Create(ctx, row(n), 0)
		}},
		{"get", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, n int) error {
			_, err := rows.Get(ctx, "acme", row(n).ID)
			return err
		}},
		{"get what expired", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, _ int) error {
			if _, err := rows.Get(ctx, "acme", "gone_7"); !errors.Is(err, event.ErrGone) {
				return err
			}
			return nil
		}},
		{"change", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, n int) error {
			_, err := rows.Change(ctx, "acme", row(n).ID, func(r *service.Row) error { r.Title = fmt.Sprint(n); return nil })
			return err
		}},
		{"page", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, _ int) error {
			first, err := rows.List(ctx, "acme", service.Query{Limit: 5})
			if err != nil {
				return err
			}
			last := first[len(first)-1]
			_, err = rows.List(ctx, "acme", service.Query{Limit: 5, Created: last.Created, ID: last.ID})
			return err
		}},
		{"page of the archived", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, _ int) error {
			_, err := rows.List(ctx, "acme", service.Query{Limit: 5, Archived: true})
			return err
		}},
		{"page of nobody", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, _ int) error {
			_, err := rows.List(ctx, "", service.Query{Limit: 1})
			return err
		}},
		{"nothing is old", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, _ int) error {
			_, err := rows.List(ctx, "acme", service.Query{Limit: 100, Unchanged: time.UnixMicro(900_000)})
			return err
		}},
		{"expire", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, n int) error {
			i := 100*round + n
			return rows.Expire(ctx, "acme", fmt.Sprint("conv_", i), time.UnixMicro(int64(1_000_000+i)), now)
		}},
		{"delete", func(ctx context.Context, rows *service.SQLRows, _ *directory.Directory, n int) error {
			return rows.Delete(ctx, "acme", row(n).ID, now)
		}},
		{"under a key", func(ctx context.Context, _ *service.SQLRows, d *directory.Directory, n int) error {
			by := directory.By{Operator: true}
			if n == 0 && round == 1 {
				if _, err := d.CreateTenant(ctx, by, directory.Tenant{ID: "acme"}, ""); err != nil {
					return err
				}
			}
			_, err := d.CreateAgent(ctx, by, directory.Agent{Tenant: "acme", ID: fmt.Sprint("agent-", round, "-", n)}, fmt.Sprint("made ", round, n))
			return err
		}},
	}
	for _, count := range []string{`SELECT 1`, `ANALYZE`} {
		round++
		ask(count)
		for _, c := range calls {
			before := counted()
			db := databasetest.OpenPostgres(t, o)
			rows, d := service.NewRows(db), directory.New(directory.Options{Database: db})
			const often = 12
			for n := range often {
				if err := c.do(t.Context(), rows, d, n); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			n := (counted() - before) / often
			t.Logf("%-22s %d rows", c.name, n)
			if n > 100 {
				t.Errorf("%s reads %d rows beside %d conversations", c.name, n, many)
			}
		}
	}
}
