package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// A connection has timeouts, and is durable even if the role's settings say otherwise.
func TestAConnection(t *testing.T) {
	t.Parallel()
	server := server(t)
	as(t, server, postgrestest.Superuser, postgres.Options{}, `CREATE ROLE lazy LOGIN`, `ALTER ROLE lazy SET synchronous_commit = off`)
	o := postgres.Options{URL: server.URL(owner, "postgres"), Schema: schema()}
	if err := postgres.Migrate(t.Context(), o, "lazy"); err != nil {
		t.Fatal(err)
	}
	o.URL, o.Patience = server.URL("lazy", "postgres"), 3*time.Second
	s := open(t, o)
	for name, want := range map[string]string{
		"synchronous_commit": "on", "statement_timeout": "3s", "lock_timeout": "3s",
		"idle_in_transaction_session_timeout": "3s", "search_path": `"` + o.Schema + `", pg_temp`,
	} {
		if got := must[string](t)(s.Setting(t.Context(), name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, o); strings.Contains(text, "lazy") {
			t.Errorf("%s of the options is %s", verb, text)
		}
	}
}

// Connections that broke while idle cause no error.
func TestConnectionsThatDied(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	o.URL += "&application_name=dying"
	s := open(t, o)
	for range 3 {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := s.Due(t.Context(), 0); err != nil {
					t.Errorf("Due: %v, caused by %v", err, errors.Unwrap(err))
				}
			})
		}
		wg.Wait()
		as(t, server, postgrestest.Superuser, o,
			`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dying'`)
	}
	if _, err := s.Admit(t.Context(), journal.Run{ID: "a", Conversation: "b"}); err != nil {
		t.Errorf("Admit: %v, caused by %v", err, errors.Unwrap(err))
	}
}

// The pool never has more connections than allowed.
func TestThePoolIsBounded(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	o.URL += "&application_name=bounded"
	o.Connections = 3
	s := open(t, o)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for n := range 5 {
				if _, err := s.Admit(t.Context(), journal.Run{ID: fmt.Sprint(i, " ", n), Conversation: fmt.Sprint(i)}); err != nil {
					t.Errorf("Admit: %v", err)
				}
			}
		})
	}
	wg.Wait()
	var n int
	err := login(t, server, postgrestest.Superuser, o).
		QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bounded'`).Scan(&n)
	if err != nil || n < 1 || n > 3 {
		t.Errorf("there are %d connections, want at most 3: %v", n, err)
	}
}

func TestAStoreThatIsClosed(t *testing.T) {
	t.Parallel()
	server := server(t)
	s := must[*postgres.Store](t)(postgres.Open(t.Context(), migrated(t, server)))
	shut(t, s)
	shut(t, s)
	_, err := s.Due(t.Context(), 0)
	refused(t, "Due", err, event.ErrUnavailable)
	_, err = s.Admit(t.Context(), journal.Run{ID: "a", Conversation: "b"})
	refused(t, "Admit", err, event.ErrUnavailable)
}

// PostgreSQL's text has no zero characters. Names with one are refused, and other calls still work.
func TestNamesThatTextCannotHold(t *testing.T) {
	t.Parallel()
	server := server(t)
	s := open(t, migrated(t, server))
	for _, id := range []string{"a\x00b", "\xff"} {
		_, err := s.Admit(t.Context(), journal.Run{ID: id, Conversation: "talk"})
		refused(t, "Admit", err, event.ErrInvalid)
		_, err = s.Acquire(t.Context(), id, 0)
		refused(t, "Acquire", err, event.ErrInvalid)
		_, err = s.Read(t.Context(), id, 0, 0)
		refused(t, "Read", err, event.ErrInvalid)
		_, err = s.Conversations(t.Context(), id, "", 0)
		refused(t, "Conversations", err, event.ErrInvalid)
	}
	l := must[journal.Opened](t)(s.Start(t.Context(), journal.Run{ID: "run", Conversation: "talk"}, 0)).Lease
	b := note(l, 1, "x")
	b.Events[0].Body = &event.StateChanged{Set: map[string]jsonText{"app:a\x00b": jsonText(`"\u0000"`)}}
	b.Release = true
	if err := s.Commit(t.Context(), l, b); err != nil {
		t.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
	}
	o := must[journal.Opened](t)(s.Acquire(t.Context(), "run", 0))
	if string(o.Shared["app:a\x00b"]) != `"\u0000"` {
		t.Errorf("the state is %v", o.Shared)
	}
	err := s.Commit(t.Context(), o.Lease, journal.Batch{Read: []string{"a\x00"}})
	refused(t, "Commit", err, event.ErrInvalid)
}

func TestWordsForTheDatabasesErrors(t *testing.T) {
	t.Parallel()
	for code, kind := range map[string]event.ErrorKind{
		"53100": event.ErrStorageFull, "53300": event.ErrUnavailable, "53200": event.ErrUnavailable, "57P01": event.ErrUnavailable,
		"57P03": event.ErrUnavailable, "08006": event.ErrUnavailable, "25006": event.ErrUnavailable, "58030": event.ErrUnavailable,
		"28P01": event.ErrPermission, "42501": event.ErrPermission, "3D000": event.ErrNotFound, "42P01": event.ErrUnsupported,
		"42703": event.ErrUnsupported, "54000": event.ErrTooLarge, "40P01": event.ErrUnavailable, "XX001": event.ErrInternal,
		"99999": event.ErrInternal, "": event.ErrInternal,
	} {
		got, message, hint := postgres.Words(code)
		if got != string(kind) || message == "" || hint == "" && kind != event.ErrInternal {
			t.Errorf("%s is %s %q (%s), want %s", code, got, message, hint, kind)
		}
	}
}
