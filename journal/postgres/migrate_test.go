package postgres_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

type jsonText = json.RawMessage

// refused checks an error's kind, and that its message has no internals.
func refused(t *testing.T, what string, err error, kind event.ErrorKind) {
	t.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message == "" || e.Hint == "" {
		t.Errorf("%s: %v (caused by %v), want %s with a hint", what, err, errors.Unwrap(err), kind)
		return
	}
	discreet(t, err)
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := postgres.Options{URL: server.URL(owner, "postgres"), Schema: schema()}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := postgres.Migrate(t.Context(), o, guest); err != nil {
				t.Errorf("Migrate: %v, caused by %v", err, errors.Unwrap(err))
			}
		})
	}
	wg.Wait()
	var n int
	err := login(t, server, owner, o).QueryRow(t.Context(), `SELECT count(*) FROM journal_version WHERE version_id = 1`).Scan(&n)
	if err != nil || n != 1 {
		t.Errorf("the first migration was carried out %d times: %v", n, err)
	}
	o.URL = server.URL(guest, "postgres")
	fill(t, open(t, o), "acme")
}

func TestDatabasesThatAreNotUsed(t *testing.T) {
	t.Parallel()
	server := server(t)
	ctx := t.Context()
	at := func(role, database, schema string) postgres.Options {
		return postgres.Options{URL: server.URL(role, database), Schema: schema}
	}

	_, err := postgres.Open(ctx, postgres.Options{})
	refused(t, "Open without an address", err, event.ErrInvalid)
	_, err = postgres.Open(ctx, postgres.Options{URL: "postgres://:port/x?host=%zz"})
	refused(t, "Open of no address", err, event.ErrInvalid)
	_, err = postgres.Open(ctx, at(guest, "nowhere", ""))
	refused(t, "Open of a database that is not there", err, event.ErrNotFound)
	_, err = postgres.Open(ctx, at("nobody else", "postgres", ""))
	refused(t, "Open as nobody", err, event.ErrPermission)
	_, err = postgres.Open(ctx, at(guest, "postgres", "empty"))
	refused(t, "Open where there is no journal", err, event.ErrUnsupported)
	_, err = postgres.Open(ctx, postgres.Options{URL: "postgres://" + guest + "@127.0.0.1:1/postgres"})
	refused(t, "Open where nobody answers", err, event.ErrUnavailable)
	refused(t, "Migrate without a role", postgres.Migrate(ctx, at(owner, "postgres", "x"), ""), event.ErrInvalid)
	refused(t, "Migrate for nobody", postgres.Migrate(ctx, at(owner, "postgres", "x"), "nobody else"), event.ErrNotFound)

	newer := migrated(t, server)
	as(t, server, owner, newer, `INSERT INTO journal_version (version_id, is_applied) VALUES (99, true)`)
	_, err = postgres.Open(ctx, newer)
	refused(t, "Open of a newer journal", err, event.ErrNewer)
	refused(t, "Migrate of a newer journal", postgres.Migrate(ctx, at(owner, "postgres", newer.Schema), guest), event.ErrNewer)

	as(t, server, postgrestest.Superuser, postgres.Options{},
		`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	_, err = postgres.Open(ctx, at(guest, "latin", ""))
	refused(t, "Open of a database that is not UTF-8", err, event.ErrUnsupported)
}

// The migration adds earlier usage to the daily sums, although row-level security applies to the tables' owner.
func TestUsageOfEarlierVersionsIsSummed(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	const usage = `INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope, tool_use_id, subagent_type,
		model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, status, at)
		VALUES ('acme', 'talk', 'run', 1, '', 'm1', 1, 1, 'model', '', '', '', 'opus', 10, -5, 3, 9223372036854775807, 7, 'done', 1728000000000000)`
	as(t, server, owner, o, unstored...)
	as(t, server, owner, o, `DROP TRIGGER usage_days_add ON usage_logs`, `DROP FUNCTION usage_days_add`, `DROP TABLE usage_days`,
		`DROP INDEX usage_logs_call, tool_execution_logs_call, run_tenant, run_open`, `ALTER TABLE usage_logs DROP COLUMN estimated`,
		`DROP FUNCTION edge_of_runs, find_runs`,
		`DELETE FROM journal_version WHERE version_id >= 7`, `SET braid.tenant = '=acme'`, usage, usage)
	old := o
	old.URL = server.URL(owner, "postgres")
	if err := postgres.Migrate(t.Context(), old, guest); err != nil {
		t.Fatal(err)
	}
	days, err := open(t, o).UsageSums(t.Context(), journal.LedgerQuery{Tenant: "acme"}, journal.UsageByDay, nil)
	want := journal.UsageSum{
		Key: "2024-10-04", Tokens: journal.Tokens{Input: 20, CacheRead: 6, CacheWrite: 2 << 30}, Calls: 2, KnownNanoUSD: 14,
	}
	if err != nil || len(days) != 1 || days[0] != want {
		t.Errorf("%+v, %v", days, err)
	}
	// Their tenant is unknown.
	users, err := open(t, o).UsageSums(t.Context(), journal.LedgerQuery{Tenant: "acme"}, journal.UsageByUser, nil)
	if err != nil || len(users) != 1 || users[0].Key != "" || users[0].Calls != 2 {
		t.Errorf("by user: %+v, %v", users, err)
	}
}

// unstored takes the journal back to the version without counted bytes.
var unstored = []string{
	`DROP INDEX run_tenant_open, run_tenant_unsuccessful`, `DROP FUNCTION edge_of_unsuccessful_runs`, `DROP TRIGGER usage_people_add ON usage_logs`, `DROP FUNCTION usage_people_add`, `DROP TABLE usage_people`, `ALTER TABLE usage_logs DROP COLUMN person`,
	`DROP TRIGGER storage_of_mail ON mail`, `DROP TRIGGER storage_of_tool ON tool_execution_logs`, `DROP TRIGGER storage_of_input ON run`,
	`DROP TRIGGER storage_of_message ON message_logs`, `DROP TRIGGER storage_counted ON conversation`, `DROP TRIGGER storage_made ON conversation`,
	`DROP TRIGGER storage_freed ON conversation`, `DROP FUNCTION storage_of_mail, storage_of_tool, storage_of_input, storage_of_message`,
	`DROP FUNCTION storage_counted, storage_made, storage_freed`, `DROP TABLE storage`,
	`ALTER TABLE conversation DROP COLUMN bytes, DROP COLUMN counted`, `DROP TABLE blob, blob_piece, blob_ref`,
	`DROP FUNCTION tenants_with_loose_blobs, blob_counted, blob_lost, blob_ref_changed`, `DROP TABLE stored_fold_part, stored_fold`,
	`DELETE FROM journal_version WHERE version_id >= 10`,
}

// The migration counts bytes that were stored earlier, although row-level security applies to the tables' owner.
func TestBytesOfEarlierVersionsAreCounted(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	const thousand = `decode(repeat('78', 1000), 'hex')`
	as(t, server, owner, o, append(slices.Clone(unstored), `SET braid.tenant = '=acme'`,
		`INSERT INTO conversation (id, tenant, turns, ended, newest) VALUES ('talk', 'acme', 1, 1, 1), ('more', 'acme', 1, 1, 2)`,
		`INSERT INTO run (key, id, conversation, turn, tenant, person, agent, input, idem, executor, new_session, status, admitted)
			SELECT 1, 'run', key, 1, 'acme', 'ann', 'calc', `+thousand+`, '', '', false, 'completed', 5 FROM conversation WHERE id = 'talk'`,
		`INSERT INTO log (conversation, tenant, first, last, epoch, events) SELECT key, 'acme', 1, 2, 1, `+thousand+` FROM conversation`,
		`INSERT INTO mail (run, tenant, id, kind, token, value, sender, message, posted, digest)
			VALUES (1, 'acme', 'm', 'answer', '', `+thousand+`, '', `+thousand+`, 1, '')`,
		`INSERT INTO tool_execution_logs (tenant, run, step, attempt, asked, ended, tool_use_id, parent_tool_use_id, scope, subagent_type, tool_name,
			source, input, output, is_error, status, began_at) VALUES ('acme', 1, 't', 1, 1, 2, '', '', '', '', '', '', `+thousand+`, `+thousand+`, false, 'done', 1)`,
		`INSERT INTO message_logs (tenant, conversation, seq, part, run, type, subtype, tool_use_id, parent_tool_use_id, content, at)
			SELECT 'acme', key, 1, 0, 1, '', '', '', '', `+thousand+`, 1 FROM conversation WHERE id = 'talk'`)...)
	old := o
	old.URL = server.URL(owner, "postgres")
	if err := postgres.Migrate(t.Context(), old, guest); err != nil {
		t.Fatal(err)
	}
	s := open(t, o)
	for tenant, want := range map[string]int64{"acme": 8000, "else": 0} {
		if n, err := s.StoredBytes(t.Context(), tenant); err != nil || n != want {
			t.Errorf("%s stores %d bytes, want %d: %v", tenant, n, want, err)
		}
	}
	if err := s.Remove(t.Context(), "acme", "talk"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.StoredBytes(t.Context(), "acme"); err != nil || n != 1000 {
		t.Errorf("after a removal acme stores %d bytes: %v", n, err)
	}
}

// A failed migration leaves nothing behind, and the next one succeeds.
func TestAMigrationThatFails(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := postgres.Options{URL: server.URL(owner, "postgres"), Schema: schema()}
	name := pgx.Identifier{o.Schema}.Sanitize()
	as(t, server, owner, postgres.Options{}, `CREATE SCHEMA `+name, `CREATE TABLE `+name+`.state (n int)`)
	if err := postgres.Migrate(t.Context(), o, guest); err == nil {
		t.Fatal("Migrate: succeeded where a table stands in the way")
	} else {
		discreet(t, err)
	}
	var n int
	err := login(t, server, owner, o).QueryRow(t.Context(), `SELECT count(*) FROM pg_class c JOIN pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = $1 AND relname = 'conversation'`, o.Schema).Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("%d tables are left of it: %v", n, err)
	}
	as(t, server, owner, o, `DROP TABLE state`)
	if err := postgres.Migrate(t.Context(), o, guest); err != nil {
		t.Errorf("Migrate after that: %v", err)
	}
}
