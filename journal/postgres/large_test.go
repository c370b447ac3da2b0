package postgres_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// often is the number of calls on one connection. After that many, the database may use a generic plan.
const often = 12

// mostRows bounds the index entries and rows that a call may read.
const mostRows = 200

// flushCounts makes an open connection report its reads now. It would otherwise report them after 10 s, in the
// middle of another call.
const flushCounts = `SELECT pg_stat_force_next_flush()`

// The reads of a call do not grow with the number of conversations, whether the database has analysed all, some or
// none of its tables. The test is alone on its server: other transactions would keep replaced rows alive, and the
// database counts these as read.
func TestManyConversations(t *testing.T) { //nolint:paralleltest // see above
	server := server(t)
	many := 100_000
	if race.On || testing.Short() {
		many = 5_000
	}
	o := migrated(t, server)
	o.Connections = 1
	crowd(t, server, o, many)
	for round, count := range []string{
		`SELECT 1`, `ANALYZE conversation, usage_logs, state`, `ANALYZE run, log, mail, compaction, tool_execution_logs, message_logs`,
	} {
		as(t, server, postgrestest.Superuser, o, count, flushCounts)
		rows := read(t, server, o, fmt.Sprint("talk ", round))
		for _, c := range journaltest.Calls() {
			t.Logf("%-24s %d rows", c.Name, rows[c.Name])
			if rows[c.Name] > mostRows {
				t.Errorf("%s reads %d rows beside %d conversations", c.Name, rows[c.Name], many)
			}
		}
	}
}

// crowd adds conversations with one turn each.
func crowd(t *testing.T, server *postgrestest.Server, o postgres.Options, many int) {
	t.Helper()
	// Only the test analyses the tables, so that no round is disturbed.
	for _, table := range []string{
		"conversation", "run", "log", "state", "mail", "compaction", "usage_logs", "tool_execution_logs", "message_logs",
	} {
		as(t, server, postgrestest.Superuser, o, `ALTER TABLE `+table+` SET (autovacuum_enabled = false)`)
	}
	as(t, server, postgrestest.Superuser, o,
		`SET braid.tenant = '=acme'`, // triggers write rows with the owner's rights
		`INSERT INTO conversation (id, tenant, turns, ended, last, newest)
			SELECT 'c' || i, 'acme', 1, 1, 1, nextval('run_key') FROM generate_series(1, `+strconv.Itoa(many)+`) i`,
		`INSERT INTO run (key, id, conversation, tenant, turn, person, agent, idem, executor, new_session, status, admitted, first, session)
			SELECT newest, 'r' || newest, key, 'acme', 1, '', '', '', '', false, 'completed', 1, 1, 1 FROM conversation`,
		`INSERT INTO log (conversation, tenant, first, last, epoch, events) SELECT key, 'acme', 1, 1, 1, '' FROM conversation`,
		`INSERT INTO state (tenant, owner, name, value) SELECT 'acme', 'user/' || id, 'x', 'x' FROM conversation`,
		`INSERT INTO mail (run, tenant, id, kind, token, sender, posted, read, digest)
			SELECT newest, 'acme', 'a', 'message', '', '', 1, 1, '' FROM conversation`,
		`INSERT INTO compaction (conversation, tenant, seq, first, last) SELECT key, 'acme', 1, 1, 1 FROM conversation`,
		`INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope, tool_use_id,
				subagent_type, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, status, at)
			SELECT 'acme', id, 'r' || newest, 1, '', 'm1', 1, 1, 'model', '', '', '', 'opus', 1, 1, 0, 0, 'done', key FROM conversation`,
		`INSERT INTO tool_execution_logs (tenant, run, step, attempt, asked, ended, tool_use_id, parent_tool_use_id, scope,
				subagent_type, tool_name, source, is_error, status, began_at)
			SELECT 'acme', newest, 't1', 1, 1, 1, '', '', '', '', 'look', '', false, 'done', key FROM conversation`,
		`INSERT INTO message_logs (tenant, conversation, seq, part, run, type, subtype, tool_use_id, parent_tool_use_id, at)
			SELECT 'acme', key, 1, 0, newest, 'user', '', '', '', 1 FROM conversation`,
		flushCounts)
	// Each call of the one transaction has left a version of its sums.
	as(t, server, postgrestest.Superuser, o, `VACUUM usage_days, usage_people`)
}

// read makes every call often and returns the rows that each has read.
func read(t *testing.T, server *postgrestest.Server, o postgres.Options, talk string) map[string]int64 {
	t.Helper()
	conn := login(t, server, postgrestest.Superuser, o)
	name := strings.ReplaceAll(o.Schema, " ", "_")
	o.URL += "&application_name=" + name
	counted := func() (rows int64) {
		t.Helper()
		// A connection reports its reads when it ends.
		for open := 1; open > 0; {
			err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&open)
			if err != nil {
				t.Fatal(err)
			}
		}
		err := conn.QueryRow(t.Context(), `SELECT
			(SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE schemaname = $1) +
			(SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE schemaname = $1)`, o.Schema).Scan(&rows)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := map[string]int64{}
	for _, c := range journaltest.Calls() {
		before := counted()
		s, err := postgres.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for n := range often {
			if err := c.Do(t.Context(), s, talk, n); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
		shut(t, s)
		rows[c.Name] = (counted() - before) / often
	}
	return rows
}
