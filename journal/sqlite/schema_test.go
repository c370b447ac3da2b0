package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// execute runs statements on a closed journal's file.
func execute(t testing.TB, folder string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func query(t testing.TB, folder, text string) string {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(t.Context(), text).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// A file of any earlier version is migrated with all its content. After that, the earlier version
// refuses it.
func TestMigrations(t *testing.T) {
	t.Parallel()
	all := sqlite.Migrations()
	if len(all) == 0 {
		t.Fatal("there are no migrations")
	}
	for version := 1; version <= len(all); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path := filepath.Join(folder, "journal.db")
			if err := sqlite.Prepare(path, all[:version]); err != nil {
				t.Fatal(err)
			}
			execute(t, folder, `INSERT INTO conversation (id, tenant, turns) VALUES ('talk', 'acme', 1)`,
				`INSERT INTO run (id, conversation, turn, tenant, user, agent, idem, executor, new_session, status, admitted, due)
					VALUES ('run', 1, 1, 'acme', 'ann', 'calc', '', '', 0, 'queued', 5, 0)`)
			s := open(t, folder, sqlite.Options{})
			o, err := s.Acquire(t.Context(), "run", 0)
			if err != nil || o.Run.User != "ann" || o.Run.Admitted.UnixMicro() != 5 {
				t.Errorf("the run is %+v: %v", o.Run, err)
			}
			shut(t, s)

			next := append(slices.Clip(all), `ALTER TABLE run ADD COLUMN colour TEXT`)
			if err := sqlite.Prepare(path, next); err != nil {
				t.Fatalf("to the version after this one: %v", err)
			}
			_, err = sqlite.Open(folder, sqlite.Options{})
			wantKind(t, "Open of the next version's file", err, event.ErrNewer)
		})
	}
}

// The migration adds earlier usage to the daily sums, also with impossible counts of a provider.
func TestUsageOfEarlierVersionsIsSummed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := sqlite.Prepare(filepath.Join(folder, "journal.db"), sqlite.Migrations()[:6]); err != nil {
		t.Fatal(err)
	}
	const usage = `INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope, tool_use_id, subagent_type,
		model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, status, at)
		VALUES ('acme', 'talk', 'run', 1, '', 'm1', 1, 1, 'model', '', '', '', 'opus', %s, 'done', 86400000000 * %d)`
	execute(t, folder, fmt.Sprintf(usage, "10, 2, 3, 4, 7", 20000), fmt.Sprintf(usage, "10, -5, 3, 4, NULL", 20000),
		fmt.Sprintf(usage, "9223372036854775807, 0, 0, 0, 9223372036854775807", 20001),
		fmt.Sprintf(usage, "9223372036854775807, 0, 0, 0, 9223372036854775807", 20001))
	s := open(t, folder, sqlite.Options{})
	days, err := s.UsageSums(t.Context(), journal.LedgerQuery{Tenant: "acme"}, journal.UsageByDay, nil)
	if err != nil || len(days) != 2 || days[1].Input < 1<<30 || days[1].Calls != 2 {
		t.Fatalf("%+v, %v", days, err)
	}
	want := journal.UsageSum{
		Key: "2024-10-04", Tokens: journal.Tokens{Input: 20, Output: 2, CacheRead: 6, CacheWrite: 8}, Calls: 2, KnownNanoUSD: 7, Unpriced: 1,
	}
	if days[0] != want {
		t.Errorf("the first day is %+v", days[0])
	}
	shut(t, s)
}

// Bytes that were stored earlier are counted when the file is opened.
func TestBytesOfEarlierVersionsAreCounted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := sqlite.Prepare(filepath.Join(folder, "journal.db"), sqlite.Migrations()[:9]); err != nil {
		t.Fatal(err)
	}
	const thousand = `CAST(printf('%.1000c', 'x') AS BLOB)`
	execute(t, folder, `INSERT INTO conversation (key, id, tenant, turns, ended) VALUES (1, 'talk', 'acme', 1, 1), (2, 'more', 'acme', 1, 1), (3, 'none', 'else', 0, 0)`,
		`INSERT INTO run (key, id, conversation, turn, tenant, user, agent, input, idem, executor, new_session, status, admitted) VALUES
			(1, 'run', 1, 1, 'acme', 'ann', 'calc', `+thousand+`, '', '', 0, 'completed', 5),
			(2, 'its run', 2, 1, 'acme', 'ann', 'calc', NULL, '', '', 0, 'completed', 5)`,
		`INSERT INTO log (conversation, first, last, epoch, events) VALUES (1, 1, 2, 1, `+thousand+`), (2, 1, 1, 1, `+thousand+`)`,
		`INSERT INTO mail (run, id, kind, token, value, sender, message, posted) VALUES (1, 'm', 'answer', '', `+thousand+`, '', printf('%.1000c', 'x'), 1)`,
		`INSERT INTO tool_execution_logs (tenant, run, step, attempt, asked, ended, tool_use_id, parent_tool_use_id, scope, subagent_type, tool_name,
			source, input, output, is_error, status, began_at) VALUES ('acme', 1, 't', 1, 1, 2, '', '', '', '', '', '', `+thousand+`, `+thousand+`, 0, 'done', 1)`,
		`INSERT INTO message_logs (conversation, seq, part, run, type, subtype, tool_use_id, parent_tool_use_id, content, at)
			VALUES (1, 1, 0, 1, '', '', '', '', `+thousand+`, 1), (1, 2, 0, 1, '', '', '', '', NULL, 1)`)
	s := open(t, folder, sqlite.Options{})
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
	shut(t, s)
}

// A failed step leaves the file at its previous version.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	shut(t, open(t, folder, sqlite.Options{}))
	before := query(t, folder, `SELECT group_concat(sql, ';') FROM sqlite_schema`)
	path := filepath.Join(folder, "journal.db")
	next := append(sqlite.Migrations(), `CREATE TABLE colour (name TEXT); INSERT INTO nowhere VALUES (1)`)
	if err := sqlite.Prepare(path, next); err == nil {
		t.Fatal("the step succeeded")
	}
	if after := query(t, folder, `SELECT group_concat(sql, ';') FROM sqlite_schema`); after != before {
		t.Errorf("the schema is\n%s\nand was\n%s", after, before)
	}
	shut(t, open(t, folder, sqlite.Options{}))
}

// The settings that durability depends on.
func TestSettings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	history(t, s, "talk", 10)
	for text, want := range map[string]string{
		`PRAGMA journal_mode`:   "wal",
		`PRAGMA application_id`: fmt.Sprint(0x42726169),
		`PRAGMA user_version`:   fmt.Sprint(len(sqlite.Migrations())),
		// Any SQLite tool can read the events.
		`SELECT count(*) FROM log WHERE CAST(events AS TEXT) LIKE '%"kind":"run_started"%'`: "2",
	} {
		if got := query(t, folder, text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for relaxed, want := range map[bool]string{false: "2", true: "1"} {
		s := open(t, t.TempDir(), sqlite.Options{Relaxed: relaxed})
		if got, err := s.Synchronous(); err != nil || got != want {
			t.Errorf("relaxed %v: synchronous is %s, want %s: %v", relaxed, got, want, err)
		}
	}
}

// The two version numbers belong together. Reverting the newer one leaves the second unchanged.
func TestVersions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"modernc.org/sqlite v1.60.1", "modernc.org/libc v1.77.1"} {
		found := false
		for line := range strings.Lines(string(data)) {
			line, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "require "), " //")
			found = found || line == want
		}
		if !found {
			t.Errorf("go.mod does not say %q: these two are only right together", want)
		}
	}
}

var _ journal.Store = (*sqlite.Store)(nil)
