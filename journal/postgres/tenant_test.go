package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// tables are the tables with rows of tenants.
var tables = []string{
	"conversation", "run", "log", "compaction", "mail", "state", "usage_logs", "usage_days", "usage_people", "tool_execution_logs", "message_logs", "buried", "storage",
	"blob", "blob_piece", "blob_ref", "stored_fold", "stored_fold_part",
}

// fill writes rows of a tenant into every table.
func fill(t *testing.T, s *postgres.Store, tenant string) {
	t.Helper()
	ctx, run, talk := t.Context(), "run of "+tenant, "talk of "+tenant
	opened, err := s.Start(ctx, journal.Run{ID: run, Conversation: talk, Tenant: tenant}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Post(ctx, journal.Mail{ID: "a", Run: run, Kind: journal.MailAnswer}); err != nil {
		t.Fatal(err)
	}
	header := event.Header{Seq: 1, Conversation: talk, Run: run}
	other := header
	other.Seq = 2
	err = s.Commit(ctx, opened.Lease, journal.Batch{Events: []*event.Event{
		{Header: header, Body: &event.StateChanged{Set: map[string]jsonText{"app:n": jsonText("1")}}},
		{Header: other, Body: &event.Compacted{From: 1, To: 1}},
	}, Release: true, Usage: []journal.UsageEntry{{Step: "m1"}}, Tools: []journal.ToolEntry{{Step: "t1"}}})
	if err != nil {
		t.Fatal(err)
	}
	f := journal.StoredFold{Seq: 2, Head: []byte("head"), Parts: [][]byte{[]byte("part")}}
	if err := s.StoreFold(ctx, opened.Lease, f); err != nil {
		t.Fatal(err)
	}
	if err := s.Tombstone(ctx, tenant, "another "+talk, "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blobs().Put(ctx, tenant, blob.Ref{Conversation: talk, Kind: "file", Name: "a"}, strings.NewReader("hello"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepMessages(ctx, run, []journal.MessageEntry{{Type: "user"}}); err != nil {
		t.Fatal(err)
	}
}

func TestATransactionSeesItsTenantAlone(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	for _, tenant := range []string{"acme", "zeta", ""} {
		fill(t, s, tenant)
	}
	conn := login(t, server, guest, o)
	count := func(table string, tenant any) (n int) {
		t.Helper()
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if tenant != nil {
				if _, err := tx.Exec(t.Context(), `SELECT set_config('braid.tenant', $1, true)`, tenant); err != nil {
					return err
				}
			}
			return tx.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, table := range tables {
		rows := 1
		if table == "storage" { // it has rows of conversations and of blobs
			rows = 2
		}
		if n := count(table, nil); n != 0 {
			t.Errorf("%s shows %d rows to who has named no tenant", table, n)
		}
		for _, tenant := range []string{"=acme", "=zeta", "="} {
			if n := count(table, tenant); n != rows {
				t.Errorf("%s shows %d rows to %q, want its %d", table, n, tenant, rows)
			}
		}
		// After a transaction the session's tenant setting is empty.
		for _, nobody := range []any{nil, "", "acme", "=nobody", "=%", "=acme'"} {
			if n := count(table, nobody); n != 0 {
				t.Errorf("%s shows %d rows to %q", table, n, nobody)
			}
		}
		for what, statement := range map[string]string{
			"removes":  `DELETE FROM ` + table,
			"takes":    `UPDATE ` + table + ` SET tenant = 'zeta'`,
			"gives to": `UPDATE ` + table + ` SET tenant = 'acme' WHERE tenant = 'zeta'`,
		} {
			err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), `SELECT set_config('braid.tenant', '=zeta', true)`); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), statement)
				return errors.Join(err, pgx.ErrTxClosed) // rolled back
			})
			if n := count(table, "=acme"); n != rows {
				t.Errorf("zeta %s acme's rows of %s: %v", what, table, err)
			}
		}
	}
	err := try(t, server, guest, o, `BEGIN`, `SELECT set_config('braid.tenant', '=zeta', true)`,
		`INSERT INTO log (conversation, tenant, first, last, epoch, events) VALUES (1, 'acme', 9, 9, 1, '')`)
	if !refusedWith(err, "42501") {
		t.Errorf("a row written for another tenant: %v, want it to be refused", err)
	}
}

func refusedWith(err error, code string) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && p.Code == code
}

// The stores' role has only the rights that a store needs.
func TestTheRoleHasNoMoreRightsThanItNeeds(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	fill(t, open(t, o), "acme")
	for _, statement := range []string{
		`UPDATE log SET events = ''`,
		`UPDATE compaction SET last = 1`,
		`UPDATE usage_logs SET cost_nano_usd = 0`,
		`TRUNCATE log`,
		`DROP TABLE log`,
		`ALTER TABLE log NO FORCE ROW LEVEL SECURITY`,
		`ALTER TABLE log DISABLE ROW LEVEL SECURITY`,
		`CREATE POLICY mine ON log USING (true)`,
		`CREATE TABLE mine (n int)`,
		`CREATE OR REPLACE FUNCTION store_clock() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'`,
		`UPDATE journal_version SET version_id = 9`,
		`SET ROLE ` + owner,
		`SET row_security = off; SELECT * FROM log`,
	} {
		if err := try(t, server, guest, o, statement); !refusedWith(err, "42501") {
			t.Errorf("%s: %v, want it to be refused", statement, err)
		}
	}
	// The owner can read a conversation's tenant, but no content.
	conn := login(t, server, owner, o)
	for _, table := range []string{"log", "compaction", "mail", "state", "usage_logs", "tool_execution_logs", "message_logs", "stored_fold", "stored_fold_part"} {
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s shows %d rows to the owner: %v", table, n, err)
		}
	}
	if err := try(t, server, owner, o, `UPDATE run SET agent = 'x'`); err != nil {
		t.Fatal(err)
	}
	runs, err := open(t, o).Runs(t.Context(), "talk of acme", 0, 0)
	if err != nil || len(runs) != 1 || runs[0].Agent != "" {
		t.Errorf("runs after the owner wrote to all that it sees: %v, %v", runs, err)
	}
}

// Every table of the journal separates tenants, also tables that are added later.
func TestEveryTableIsForced(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	rows, err := login(t, server, owner, o).Query(t.Context(), `SELECT relname::text FROM pg_class c JOIN pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = $1 AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity`, o.Schema)
	if err != nil {
		t.Fatal(err)
	}
	forced, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(forced)
	want := slices.Sorted(slices.Values(tables))
	if !slices.Equal(forced, want) {
		t.Errorf("row-level security is forced on %v, want %v", forced, want)
	}
	as(t, server, owner, o, `ALTER TABLE mail NO FORCE ROW LEVEL SECURITY`)
	_, err = postgres.Open(t.Context(), o)
	refused(t, "Open where it is not forced", err, event.ErrPermission)
}

func TestRolesThatSeePastIt(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	as(t, server, postgrestest.Superuser, o,
		`CREATE ROLE by_right LOGIN BYPASSRLS`, `CREATE ROLE by_family LOGIN IN ROLE `+owner, `CREATE ROLE stranger LOGIN`)
	for _, role := range []string{postgrestest.Superuser, owner, "by_right", "by_family"} {
		in := o
		in.URL = server.URL(role, "postgres")
		_, err := postgres.Open(t.Context(), in)
		refused(t, "Open as "+role, err, event.ErrPermission)
		in.URL = server.URL(owner, "postgres")
		refused(t, "Migrate for "+role, postgres.Migrate(t.Context(), in, role), event.ErrPermission)
	}
	o.URL = server.URL("stranger", "postgres")
	_, err := postgres.Open(t.Context(), o)
	refused(t, "Open as a role without rights", err, event.ErrPermission)
	refused(t, "Migrate as a role without rights", postgres.Migrate(t.Context(), o, guest), event.ErrPermission)
}

// A right that is revoked while a store is open gives a clear error.
func TestARightThatIsTakenAway(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	fill(t, s, "acme")
	as(t, server, owner, o, `REVOKE INSERT ON run FROM `+guest)
	next := journal.Run{ID: "next", Conversation: "talk of acme", Tenant: "acme"}
	_, err := s.Admit(t.Context(), next)
	refused(t, "Admit without the right", err, event.ErrUnavailable) // the caller is not at fault
	in := o
	in.URL = server.URL(owner, "postgres")
	if err := postgres.Migrate(t.Context(), in, guest); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Admit(t.Context(), next); err != nil || r.Turn != 2 {
		t.Errorf("Admit with the right: turn %d, %v", r.Turn, err)
	}
}
