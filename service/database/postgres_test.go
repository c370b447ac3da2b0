package database_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
)

// tables hold tenants' rows, with a statement that adds one of a tenant's, which stands for its mark.
var tables = map[string]string{
	"conversation": `INSERT INTO conversation (tenant, id, person, title, archived, since, agent, agent_version, origin, at, created, updated)
		VALUES (?, 'conv_1', '', '', false, 0, '', 0, '', 0, 1, 1)`,
	// Triggers write it, and servers only look.
	"conversation_count": `SELECT n FROM conversation_count WHERE tenant = ?`,

	"spend":       `INSERT INTO spend (tenant, day, life, tokens, nano_usd) VALUES (?, 1, '', 0, 0)`,
	"reservation": `INSERT INTO reservation (tenant, id, day, tokens, nano_usd, expires) VALUES (?, 'r', 1, 0, 0, 0)`,

	"expired":       `INSERT INTO expired (tenant, id, at) VALUES (?, 'conv_0', 1)`,
	"tenant":        `INSERT INTO tenant (id, status, revision, created, updated, doc) VALUES (?, 'active', 1, 1, 1, '{}')`,
	"agent":         `INSERT INTO agent (tenant, id, status, version, revision, created, updated) VALUES (?, 'a', 'active', 1, 1, 1, 1)`,
	"agent_version": `INSERT INTO agent_version (tenant, agent, version, created, doc) VALUES (?, 'a', 1, 1, '{}')`,
	"model":         `INSERT INTO model (tenant, id, status, revision, created, updated, doc) VALUES (?, 'm', 'active', 1, 1, 1, '{}')`,
	"model_name":    `INSERT INTO model_name (tenant, name, model) VALUES (?, 'm', 'm')`,
	"mcp_server": `INSERT INTO mcp_server (tenant, id, life, status, version, revision, created, updated)
		VALUES (?, 's', 'life', 'active', 1, 1, 1, 1)`,
	"mcp_server_version": `INSERT INTO mcp_server_version (tenant, server, version, created, doc) VALUES (?, 's', 1, 1, '{}')`,
	"mcp_grant": `INSERT INTO mcp_grant (tenant, id, server, person, life, version, created, updated, doc, secret)
		VALUES (?, 'g', 's', '', 'life', 1, 1, 1, '{}', '')`,
	"mcp_document":  `INSERT INTO mcp_document (tenant, server, digest, data) VALUES (?, 's', '', '')`,
	"skill":         `INSERT INTO skill (tenant, id, life, status, version, revision, created, updated) VALUES (?, 's', 'life', 'active', 1, 1, 1, 1)`,
	"skill_version": `INSERT INTO skill_version (tenant, skill, version, created, place, doc) VALUES (?, 's', 1, 1, '', '{}')`,
	"skill_loose":   `INSERT INTO skill_loose (tenant, place, since) VALUES (?, 'p', 1)`,
	"webhook": `INSERT INTO webhook (tenant, id, life, status, revision, created, updated, doc, secret)
		VALUES (?, 'w', 'life', 'active', 1, 1, 1, '{}', '')`,
	"webhook_notice": `INSERT INTO webhook_notice (tenant, conversation, seq, run, created) VALUES (?, 'c', 1, 'r', 1)`,
	"webhook_delivery": `INSERT INTO webhook_delivery (tenant, webhook, message, type, conversation, run, created, started, status, attempts,
		next_at, leased, finished, code, error, payload) VALUES (?, 'w', 'm', '', '', '', 1, 1, 'pending', 0, 1, 0, 0, 0, '', '{}')`,
	"webhook_due": `INSERT INTO webhook_due (tenant, due) VALUES (?, 1)`,
	"api_key": `INSERT INTO api_key (tenant, id, hash, person, expires, revoked, revision, created, updated, doc)
		SELECT t, 'key of ' || t, t::bytea, '', 0, 0, 1, 1, 1, '{}' FROM (SELECT ?::text AS t) AS of`,
	"idempotency": `INSERT INTO idempotency (tenant, key, digest, object, created) VALUES (?, 'k', '', '', 1)`,
	"audit_head":  `INSERT INTO audit_head (tenant, seq, hash) VALUES (?, 1, '')`,
	"audit": `INSERT INTO audit (tenant, seq, at, action, object, by_tenant, key, person, operator, detail, hash)
		VALUES (?, 1, 1, '', '', '', '', '', false, '', '')`,
}

// fill writes something into every table, for a tenant.
func fill(t *testing.T, db *database.DB, tenant string) {
	t.Helper()
	done(t, db.Write(t.Context(), "fill", tenant, func(tx *database.Tx) error {
		for _, statement := range tables {
			if _, err := tx.Exec(statement, tenant); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}))
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	o := databases.Schema(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := database.MigratePostgres(t.Context(), o, databasetest.Guest); err != nil {
				t.Errorf("%v, caused by %v", err, errors.Unwrap(err))
			}
		})
	}
	wg.Wait()
	o.URL = databases.Server(t).URL(databasetest.Guest, "postgres")
	fill(t, databasetest.OpenPostgres(t, o), "acme")
}

func TestDatabasesThatAreNotUsed(t *testing.T) {
	t.Parallel()
	server, ctx := databases.Server(t), t.Context()
	const owner, guest = databasetest.Owner, databasetest.Guest
	open := func(what string, o database.PostgresOptions, kind event.ErrorKind) {
		t.Helper()
		db, err := database.OpenPostgres(ctx, o)
		if err == nil {
			_ = db.Close()
		}
		refused(t, what, err, kind)
	}
	at := func(role, name, schema string) database.PostgresOptions {
		return database.PostgresOptions{URL: server.URL(role, name), Schema: schema, Patience: 3 * time.Second}
	}
	open("no address", database.PostgresOptions{}, event.ErrInvalid)
	open("garbage", database.PostgresOptions{URL: "postgres://:port/x?host=%zz"}, event.ErrInvalid)
	open("a database that is not there", at(guest, "nowhere", ""), event.ErrNotFound)
	open("nobody", at("nobody else", "postgres", ""), event.ErrPermission)
	open("an empty schema", at(guest, "postgres", "empty"), event.ErrUnsupported)
	open("where nobody answers", database.PostgresOptions{URL: "postgres://" + guest + "@127.0.0.1:1/postgres"}, event.ErrUnavailable)

	refused(t, "migrate for no role", database.MigratePostgres(ctx, at(owner, "postgres", "x"), ""), event.ErrInvalid)
	refused(t, "migrate for nobody", database.MigratePostgres(ctx, at(owner, "postgres", "x"), "nobody else"), event.ErrNotFound)
	refused(t, "migrate without an address", database.MigratePostgres(ctx, database.PostgresOptions{}, guest), event.ErrInvalid)
	for _, role := range []string{owner, postgrestest.Superuser} {
		refused(t, "migrate for "+role, database.MigratePostgres(ctx, at(owner, "postgres", "x"), role), event.ErrPermission)
	}
	refused(t, "migrate as one without rights", database.MigratePostgres(ctx, at(guest, "postgres", "y"), guest), event.ErrPermission)

	o := databases.Postgres(t)
	for _, role := range []string{owner, postgrestest.Superuser} {
		in := o
		in.URL = server.URL(role, "postgres")
		open("as "+role, in, event.ErrPermission)
	}
	done(t, as(t, owner, o, `INSERT INTO service_version (version_id, is_applied) VALUES (99, true)`))
	open("a newer one", o, event.ErrNewer)
	refused(t, "migrate a newer one", database.MigratePostgres(ctx, at(owner, "postgres", o.Schema), guest), event.ErrNewer)
	done(t, as(t, owner, o, `DELETE FROM service_version WHERE version_id > 0`))
	open("an unfinished one", o, event.ErrUnsupported)

	o = databases.Postgres(t)
	done(t, as(t, owner, o, `ALTER TABLE api_key NO FORCE ROW LEVEL SECURITY`))
	open("where it is not forced", o, event.ErrPermission)

	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, o); strings.Contains(text, guest) {
			t.Errorf("%s of the options is %s", verb, text)
		}
	}
}

func TestATransactionSeesItsTenantAlone(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	db := databasetest.OpenPostgres(t, o)
	for _, tenant := range []string{"acme", "zeta"} {
		fill(t, db, tenant)
	}
	conn := databases.Login(t, databasetest.Guest, o)
	in := func(tenant any, statement string) (n int64, err error) {
		t.Helper()
		err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if tenant != nil {
				if _, err := tx.Exec(t.Context(), `SELECT set_config('braid.tenant', $1, true)`, tenant); err != nil {
					return err
				}
			}
			tag, err := tx.Exec(t.Context(), statement)
			n = tag.RowsAffected()
			return errors.Join(err, pgx.ErrTxClosed) // and back
		})
		return n, err
	}
	for table := range tables {
		look := `SELECT FROM ` + table
		for _, tenant := range []string{"=acme", "=zeta"} {
			if n, _ := in(tenant, look); n != 1 {
				t.Errorf("%s shows %d rows to %q, want its one", table, n, tenant)
			}
		}
		for _, nobody := range []any{nil, "", "acme", "=nobody", "=%", "=acme'", "="} {
			if n, _ := in(nobody, look); n != 0 {
				t.Errorf("%s shows %d rows to %q", table, n, nobody)
			}
		}
		want := int64(0)
		if table == "tenant" || table == "webhook_due" {
			want = 2
		}
		if n, _ := in("*", look); n != want {
			t.Errorf("%s shows %d rows to the operator, want %d", table, n, want)
		}
		if n, err := in("*", `DELETE FROM `+table); n != 0 {
			t.Errorf("the operator's look removes %d rows of %s: %v", n, table, err)
		}
		column := "tenant"
		if table == "tenant" {
			column = "id"
		}
		for what, statement := range map[string]string{
			"removes": `DELETE FROM ` + table + ` WHERE ` + column + ` = 'acme'`,
			"takes":   `UPDATE ` + table + ` SET ` + column + ` = 'zeta' WHERE ` + column + ` = 'acme'`,
		} {
			if n, _ := in("=zeta", statement); n != 0 {
				t.Errorf("zeta %s acme's rows of %s", what, table)
			}
		}
		if table == "conversation_count" {
			continue
		}
		_, err := in("=zeta", strings.ReplaceAll(tables[table], "?", "'third'"))
		if !refusedWith(err, "42501") {
			t.Errorf("a row of %s written for another tenant: %v, want it to be refused", table, err)
		}
	}
}

// What goes in one round trip sees its tenant's rows alone, and the connection keeps nothing of it. An answer
// that was refused leaves the connection good, and one that is dead is replaced.
func TestALookSeesItsTenantAlone(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	o.Connections = 1
	db := databasetest.OpenPostgres(t, o)
	for _, tenant := range []string{"acme", "zeta"} {
		fill(t, db, tenant)
	}
	look := func(tenant, statement string) (found []string) {
		t.Helper()
		done(t, db.Look(t.Context(), "look", tenant, statement, nil, func(scan func(into ...any) error) error {
			var of string
			err := scan(&of)
			found = append(found, of)
			return err
		}))
		return found
	}
	const whose = `SELECT tenant FROM conversation`
	for range 2 { // the second time the statements are known
		for tenant, want := range map[string][]string{"acme": {"acme"}, "zeta": {"zeta"}, "nobody": nil, "": nil} {
			if got := look(tenant, whose); !slices.Equal(got, want) {
				t.Errorf("%q sees the rows of %q", tenant, got)
			}
			var left string
			var rows int
			done(t, database.Unscoped(t.Context(), db, `SELECT coalesce(current_setting('braid.tenant', true), ''), (SELECT count(*) FROM conversation)`,
				&left, &rows))
			if left != "" || rows != 0 {
				t.Errorf("after %q the connection is for %q and sees %d rows", tenant, left, rows)
			}
		}
	}
	err := db.Look(t.Context(), "look", "acme", `SELECT 1 / (at - at) FROM conversation`, nil, func(func(into ...any) error) error { return nil })
	refused(t, "a division by nothing", err, event.ErrInternal)
	if got := look("acme", whose); len(got) != 1 {
		t.Errorf("after a refusal it sees %q", got)
	}
	var pid int
	done(t, database.Unscoped(t.Context(), db, `SELECT pg_backend_pid()`, &pid))
	done(t, as(t, postgrestest.Superuser, o, fmt.Sprintf(`SELECT pg_terminate_backend(%d)`, pid)))
	if got := look("acme", whose); len(got) != 1 {
		t.Errorf("on another connection it sees %q", got)
	}
}

// A shared model is seen by all, and written by nobody but in its own name.
func TestSharedModelsAreSeenByAll(t *testing.T) {
	t.Parallel()
	db := databasetest.OpenPostgres(t, databases.Postgres(t))
	fill(t, db, "acme")
	done(t, db.Write(t.Context(), "share", "", func(tx *database.Tx) error {
		_, err := tx.Exec(tables["model"], "")
		return err
	}))
	done(t, db.Write(t.Context(), "steal", "acme", func(tx *database.Tx) error {
		var n int
		if _, err := tx.Get(`SELECT count(*) FROM model`, nil, &n); err != nil || n != 2 {
			t.Errorf("acme sees %d models: %v", n, err)
		}
		removed, err := tx.Exec(`DELETE FROM model WHERE tenant = ?`, "")
		if removed != 0 {
			t.Error("acme removes a shared model")
		}
		return err
	}))
}

// The servers' role may do what a server does, and nothing that would undo it.
func TestTheRoleHasNoMoreRightsThanItNeeds(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	fill(t, databasetest.OpenPostgres(t, o), "acme")
	for _, statement := range []string{
		`UPDATE audit SET detail = 'x'`,
		`DELETE FROM audit`,
		`DELETE FROM audit_head`,
		`UPDATE agent_version SET doc = 'x'`,
		`INSERT INTO change (one, n) VALUES (true, 9)`,
		`DELETE FROM change`,
		`TRUNCATE audit`,
		`INSERT INTO audit_erasure (tenant, at, entries, head) VALUES ('acme', 1, 1, '')`,
		`UPDATE audit_erasure SET tenant = 'zeta'`,
		`DELETE FROM audit_erasure`,
		`TRUNCATE audit_erasure`,
		`SELECT setval(pg_get_serial_sequence('audit_erasure', 'id'), 1)`,
		`DROP FUNCTION erase_audit(text)`,
		`CREATE TRIGGER mine BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
		`DROP TABLE audit`,
		`ALTER TABLE audit DISABLE ROW LEVEL SECURITY`,
		`CREATE POLICY mine ON audit USING (true)`,
		`CREATE TABLE mine (n int)`,
		`CREATE OR REPLACE FUNCTION tenant_of_key(text) RETURNS text LANGUAGE sql AS 'SELECT ''=acme'''`,
		`UPDATE service_version SET version_id = 9`,
		`SET ROLE ` + databasetest.Owner,
		`SET row_security = off; SELECT * FROM audit`,
		// Of a tenant that is active, of another one, and of nobody.
		`SET braid.tenant = '=acme'; SELECT erase_audit('acme')`,
		`SET braid.tenant = '=zeta'; SELECT erase_audit('acme')`,
		`SET braid.tenant = '*'; SELECT erase_audit('acme')`,
		`SET braid.tenant = '=acme'; UPDATE tenant SET status = 'inactive'; SET braid.tenant = '*'; SELECT erase_audit('acme')`,
		`SELECT erase_audit('')`,
	} {
		if err := as(t, databasetest.Guest, o, statement); !refusedWith(err, "42501") {
			t.Errorf("%s: %v, want it to be refused", statement, err)
		}
	}
	// The owner may look at whose a key is, and reads nothing else.
	conn := databases.Login(t, databasetest.Owner, o)
	for table := range tables {
		var n int
		want := 0
		if table == "api_key" {
			want = 1
		}
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s shows %d rows to the owner, want %d: %v", table, n, want, err)
		}
	}
}

// A database is not opened with a role that could erase the audit, and the error says by which right.
func TestARoleThatCouldEraseTheAudit(t *testing.T) {
	t.Parallel()
	for grant, says := range map[string]string{
		`GRANT DELETE ON audit TO ` + databasetest.Guest:                        "rows of the table audit",
		`GRANT UPDATE (detail) ON audit TO ` + databasetest.Guest:               "rows of the table audit",
		`GRANT TRUNCATE ON audit TO PUBLIC`:                                     "rows of the table audit",
		`GRANT TRIGGER ON audit TO ` + databasetest.Guest:                       "rows of the table audit",
		`GRANT INSERT ON audit_erasure TO ` + databasetest.Guest:                "audit_erasure",
		`GRANT ALL ON audit_kept TO ` + databasetest.Guest:                      "audit_kept",
		`GRANT CREATE ON SCHEMA SCHEMANAME TO ` + databasetest.Guest:            "create objects in the schema",
		`GRANT ALL ON ALL TABLES IN SCHEMA SCHEMANAME TO ` + databasetest.Guest: "rows of the table audit",
	} {
		t.Run(grant, func(t *testing.T) {
			t.Parallel()
			o := databases.Postgres(t)
			db, err := database.OpenPostgres(t.Context(), o)
			done(t, err)
			done(t, db.Close())
			done(t, as(t, databasetest.Owner, o, strings.ReplaceAll(grant, "SCHEMANAME", pgx.Identifier{o.Schema}.Sanitize())))
			db, err = database.OpenPostgres(t.Context(), o)
			if err == nil {
				_ = db.Close()
			}
			refused(t, grant, err, event.ErrPermission)
			if e, ok := errors.AsType[*event.Error](err); !ok || !strings.Contains(e.Message, says) || e.Hint == "" {
				t.Errorf("%v does not say %q", err, says)
			}
			if strings.HasSuffix(grant, "PUBLIC") {
				return
			}
			// Migrating takes the right away.
			in := o
			in.URL = databases.Server(t).URL(databasetest.Owner, "postgres")
			done(t, database.MigratePostgres(t.Context(), in, databasetest.Guest))
			db, err = database.OpenPostgres(t.Context(), o)
			done(t, err)
			done(t, db.Close())
		})
	}
}

// Every table keeps tenants apart, also one that is added later.
func TestEveryTableIsForced(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	rows, err := databases.Login(t, databasetest.Owner, o).Query(t.Context(), `SELECT relname::text FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity`, o.Schema)
	done(t, err)
	forced, err := pgx.CollectRows(rows, pgx.RowTo[string])
	done(t, err)
	want := []string{"audit_erasure", "audit_kept", "change"} // the last is a number, which is nobody's
	for table := range tables {
		want = append(want, table)
	}
	slices.Sort(want)
	if slices.Sort(forced); !slices.Equal(forced, want) {
		t.Errorf("row-level security is forced on %v, want %v", forced, want)
	}
}

// A right that was taken away while a server runs is missed in words.
func TestARightThatIsTakenAway(t *testing.T) {
	t.Parallel()
	o := databases.Postgres(t)
	db := databasetest.OpenPostgres(t, o)
	done(t, as(t, databasetest.Owner, o, `REVOKE INSERT ON conversation FROM `+databasetest.Guest))
	write := func() error {
		return db.Write(t.Context(), "write", "acme", func(tx *database.Tx) error {
			_, err := tx.Exec(tables["conversation"], "acme")
			return err
		})
	}
	refused(t, "write without the right", write(), event.ErrUnavailable) // it is not the caller who lacks it
	in := o
	in.URL = databases.Server(t).URL(databasetest.Owner, "postgres")
	done(t, database.MigratePostgres(t.Context(), in, databasetest.Guest))
	done(t, write())
}

// A database that goes away is missed in words, and used again once it is back.
func TestADatabaseThatIsRestarted(t *testing.T) {
	t.Parallel()
	databases.Server(t) // or none is asked for
	server, err := postgrestest.New(t.Context())
	done(t, err)
	t.Cleanup(func() { done(t, server.Close()) })
	var own databasetest.Databases
	o := own.On(t, server)
	o.Patience = 5 * time.Second
	db := databasetest.OpenPostgres(t, o)
	fill(t, db, "acme")
	read := func() error {
		return db.Read(t.Context(), "read", "acme", func(tx *database.Tx) error {
			var n int
			_, err := tx.Get(`SELECT count(*) FROM conversation`, nil, &n)
			if err == nil && n != 1 {
				t.Errorf("there are %d rows", n)
			}
			return err
		})
	}
	for _, stop := range []func() error{server.Stop, server.Crash} {
		done(t, stop())
		refused(t, "read while it is away", read(), event.ErrUnavailable)
		_, err := db.Changes(t.Context())
		refused(t, "the count while it is away", err, event.ErrUnavailable)
		done(t, server.Start(t.Context()))
		done(t, read())
	}
	// Connections that were cut while nobody used them are nobody's error.
	conn, err := pgx.Connect(t.Context(), server.URL(postgrestest.Superuser, "postgres"))
	done(t, err)
	for range 3 {
		_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'braid'`)
		done(t, err)
		done(t, read())
	}
	done(t, conn.Close(t.Context()))
}
