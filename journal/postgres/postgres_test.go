package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// shared is the server of most tests. Each test has its own schema there.
var (
	shared  *postgrestest.Server
	missing error
	schemas atomic.Int64
)

// errNotAsked is why tests run without a database by default.
var errNotAsked = errors.New("these tests start a PostgreSQL server: make test-peers runs them, or BRAID_POSTGRES=try")

func TestMain(m *testing.M) { os.Exit(whole(m)) }

func whole(m *testing.M) int {
	ctx := context.Background()
	if missing = errNotAsked; os.Getenv("BRAID_POSTGRES") != "" {
		shared, missing = postgrestest.New(ctx, "fsync=off", "full_page_writes=off")
	}
	if missing != nil && !errors.Is(missing, errNotAsked) && !errors.Is(missing, postgrestest.ErrMissing) {
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	if missing == nil {
		if missing = roles(ctx, shared); missing != nil {
			fmt.Fprintln(os.Stderr, errors.Join(missing, shared.Close()))
			return 1
		}
	}
	code := m.Run()
	if missing == nil {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// The roles of the tests: the owner of the tables, and the role of the stores.
const (
	owner = "braid_owner"
	guest = "braid_store"
)

func roles(ctx context.Context, s *postgrestest.Server) error {
	conn, err := pgx.Connect(ctx, s.URL(postgrestest.Superuser, "postgres"))
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE ROLE ` + owner + ` LOGIN`, `CREATE ROLE ` + guest + ` LOGIN`,
		`GRANT CREATE ON DATABASE postgres TO ` + owner,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// server returns the shared server, or skips the test if there is none.
func server(tb testing.TB) *postgrestest.Server {
	tb.Helper()
	if missing == nil {
		return shared
	}
	if os.Getenv("BRAID_POSTGRES") == "required" {
		tb.Fatal(missing)
	}
	tb.Skip(missing)
	return nil
}

// schema returns an unused name.
func schema() string { return fmt.Sprint("journal ", schemas.Add(1)) }

// migrated makes a journal in a new schema.
func migrated(tb testing.TB, s *postgrestest.Server) postgres.Options {
	tb.Helper()
	o := postgres.Options{URL: s.URL(owner, "postgres"), Schema: schema()}
	if err := postgres.Migrate(tb.Context(), o, guest); err != nil {
		tb.Fatalf("Migrate: %v", err)
	}
	o.URL = s.URL(guest, "postgres")
	return o
}

// open opens a store until the end of the test.
func open(tb testing.TB, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() { shut(tb, s) })
	return s
}

func shut(tb testing.TB, s *postgres.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Errorf("Close: %v", err)
	}
}

// as runs statements with a role, in the journal's schema.
func as(tb testing.TB, s *postgrestest.Server, role string, o postgres.Options, statements ...string) {
	tb.Helper()
	if err := try(tb, s, role, o, statements...); err != nil {
		tb.Fatal(err)
	}
}

func try(tb testing.TB, s *postgrestest.Server, role string, o postgres.Options, statements ...string) error {
	tb.Helper()
	conn := login(tb, s, role, o)
	for _, statement := range statements {
		if _, err := conn.Exec(tb.Context(), statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// login returns a connection that closes at the end of the test.
func login(tb testing.TB, s *postgrestest.Server, role string, o postgres.Options) *pgx.Conn {
	tb.Helper()
	config, err := pgx.ParseConfig(s.URL(role, "postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	if o.Schema != "" {
		config.RuntimeParams["search_path"] = pgx.Identifier{o.Schema}.Sanitize()
	}
	conn, err := pgx.ConnectConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// hold replaces the journal's clock by one that the test moves.
func hold(t *testing.T, s *postgrestest.Server, o postgres.Options) (advance func(time.Duration)) {
	t.Helper()
	conn := login(t, s, owner, o)
	set := func(us int64) {
		_, err := conn.Exec(context.Background(), fmt.Sprintf(
			`CREATE OR REPLACE FUNCTION store_clock() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT %d::bigint'`, us))
		if err != nil {
			t.Error(err)
		}
	}
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).UnixMicro()
	set(now)
	var mu sync.Mutex
	return func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now += d.Microseconds()
		set(now)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	s := server(t)
	t.Run("a clock that is moved", func(t *testing.T) {
		t.Parallel()
		journaltest.Run(t, func(t *testing.T) journaltest.Harness {
			o := migrated(t, s)
			o.Term, o.Connections = time.Minute, 4
			store := open(t, o)
			return journaltest.Harness{
				Store: store, Term: o.Term, Advance: hold(t, s, o),
				Reopen: func() journal.Journal {
					shut(t, store)
					store = open(t, o)
					return store
				},
			}
		})
	})
	t.Run("the database's clock", func(t *testing.T) {
		t.Parallel()
		journaltest.Run(t, func(t *testing.T) journaltest.Harness {
			return journaltest.Harness{Store: open(t, migrated(t, s))}
		})
	})
}

// discreet checks that a message names neither statements nor addresses.
func discreet(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{"SELECT", "INSERT", "SQLSTATE", "/", "braid_", "host", "dial", "socket", "pgx", "password="} {
		if strings.Contains(strings.ReplaceAll(err.Error(), "postgres://role@host/database", ""), secret) {
			t.Errorf("the error %q says %q", err, secret)
		}
	}
}
