package postgres_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// What a call costs does not depend on how many conversations there are, once the
// database has counted them, which it does by itself.
func TestManyConversations(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	// The best of many: others use the machine too.
	best := func(what string) map[string]time.Duration {
		times := map[string]time.Duration{}
		measure := func(name string, do func() error) {
			from := time.Now()
			if err := do(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d, ok := times[name]; !ok || time.Since(from) < d {
				times[name] = time.Since(from)
			}
		}
		for n := range 30 {
			seq := int64(2 * n)
			measure("turn", func() error { return turn(t, s, what, n, seq) })
			measure("due", func() error { _, err := s.Due(t.Context(), 10); return err })
			measure("list", func() error { _, err := s.Conversations(t.Context(), "acme", "", 20); return err })
			measure("runs", func() error { _, err := s.Runs(t.Context(), what, 0, 20); return err })
			measure("queue", func() error { _, err := s.Queue(t.Context(), what); return err })
			measure("read", func() error { _, err := s.Read(t.Context(), what, seq, 20); return err })
			measure("tail", func() error { _, err := s.Tail(t.Context(), what); return err })
		}
		return times
	}
	const many = 20_000
	few := best("few")
	as(t, server, postgrestest.Superuser, o,
		`INSERT INTO conversation (id, tenant, turns, ended, last, newest)
			SELECT 'c' || i, 'acme', 1, 1, 1, nextval('run_key') FROM generate_series(1, `+strconv.Itoa(many)+`) i`,
		`INSERT INTO run (key, id, conversation, tenant, turn, person, agent, idem, executor, new_session, status, admitted, first, session)
			SELECT newest, 'r' || newest, key, 'acme', 1, '', '', '', '', false, 'completed', 1, 1, 1 FROM conversation WHERE id LIKE 'c%'`,
		`INSERT INTO log (conversation, tenant, first, last, epoch, events)
			SELECT key, 'acme', 1, 1, 1, '' FROM conversation WHERE id LIKE 'c%'`,
		`INSERT INTO state (tenant, owner, name, value) SELECT 'acme', 'user/' || id, 'x', 'x' FROM conversation`,
		`INSERT INTO mail (run, tenant, id, kind, token, sender, posted, read, digest)
			SELECT newest, 'acme', 'a', 'message', '', '', 1, 1, '' FROM conversation WHERE id LIKE 'c%'`)
	as(t, server, postgrestest.Superuser, o, `ANALYZE conversation, run, log, state, mail, compaction`)
	with := best("many")
	for name, d := range few {
		t.Logf("%-6s %v with few conversations, %v with many", name, d, with[name])
		// A whole table takes tens of milliseconds.
		if with[name] > 3*d+3*time.Millisecond {
			t.Errorf("%s takes %v with few conversations, %v with many", name, d, with[name])
		}
	}
}

// turn is one turn of a conversation.
func turn(t *testing.T, s *postgres.Store, talk string, n int, seq int64) error {
	t.Helper()
	run := journal.Run{ID: fmt.Sprint(talk, " ", n), Conversation: talk, Tenant: "acme"}
	o, err := s.Start(t.Context(), run, seq)
	if err != nil {
		return err
	}
	if err := s.Post(t.Context(), journal.Mail{ID: "a", Run: run.ID, Kind: journal.MailAnswer}); err != nil {
		return err
	}
	b := note(o.Lease, seq+1, "begins")
	b.Read = []string{"a"}
	if err := s.Commit(t.Context(), o.Lease, b); err != nil {
		return err
	}
	if _, err := s.Renew(t.Context(), o.Lease); err != nil {
		return err
	}
	return s.Commit(t.Context(), o.Lease, ending(o.Lease, seq+2))
}
