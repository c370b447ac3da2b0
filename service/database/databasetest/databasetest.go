// Package databasetest gives tests the service's database in all its kinds.
package databasetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/service/database"
)

// The roles of the tests: who owns the tables, and whom servers log in as.
const (
	Owner = "braid_owner"
	Guest = "braid_service"
)

var errNotAsked = errors.New("these tests start a PostgreSQL server: make test-peers runs them, or BRAID_POSTGRES=try")

// Databases are the databases of a test program. Its TestMain calls [Databases.Main].
type Databases struct {
	server  *postgrestest.Server
	missing error
	schemas atomic.Int64
}

// Main runs the tests, with a PostgreSQL server of their own where the environment asks for it
// (BRAID_POSTGRES=try or required), looks for goroutines that are left, and gives the exit code.
func (d *Databases) Main(m *testing.M) int {
	ctx := context.Background()
	if d.missing = errNotAsked; os.Getenv("BRAID_POSTGRES") != "" {
		d.server, d.missing = postgrestest.New(ctx, "fsync=off", "full_page_writes=off")
	}
	if d.missing == nil {
		d.missing = roles(ctx, d.server)
	}
	if d.missing != nil && !errors.Is(d.missing, errNotAsked) && !errors.Is(d.missing, postgrestest.ErrMissing) {
		fmt.Fprintln(os.Stderr, d.missing)
		return 1
	}
	code := m.Run()
	if d.server != nil {
		if err := d.server.Close(); err != nil {
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

func roles(ctx context.Context, s *postgrestest.Server) error {
	conn, err := pgx.Connect(ctx, s.URL(postgrestest.Superuser, "postgres"))
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE ROLE ` + Owner + ` LOGIN`, `CREATE ROLE ` + Guest + ` LOGIN`, `GRANT CREATE ON DATABASE postgres TO ` + Owner,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// Server gives the PostgreSQL server, or skips the test where there is none.
func (d *Databases) Server(tb testing.TB) *postgrestest.Server {
	tb.Helper()
	if d.missing == nil {
		return d.server
	}
	if os.Getenv("BRAID_POSTGRES") == "required" {
		tb.Fatal(d.missing)
	}
	tb.Skip(d.missing)
	return nil
}

// Schema gives the settings of a schema that nobody else uses, as the owner. Nothing is in it.
func (d *Databases) Schema(tb testing.TB) database.PostgresOptions {
	tb.Helper()
	return database.PostgresOptions{URL: d.Server(tb).URL(Owner, "postgres"), Schema: fmt.Sprint("service ", d.schemas.Add(1))}
}

// Postgres makes a database in a schema of its own, and gives its settings as those of the role
// that servers log in as.
func (d *Databases) Postgres(tb testing.TB) database.PostgresOptions {
	tb.Helper()
	o := d.Schema(tb)
	if err := database.MigratePostgres(tb.Context(), o, Guest); err != nil {
		tb.Fatalf("migrate: %v, caused by %v", err, errors.Unwrap(err))
	}
	o.URL = d.Server(tb).URL(Guest, "postgres")
	return o
}

// On makes the roles and a database on a server of the test's own, and gives its settings as
// those of the role that servers log in as.
func (d *Databases) On(tb testing.TB, server *postgrestest.Server) database.PostgresOptions {
	tb.Helper()
	if err := roles(tb.Context(), server); err != nil {
		tb.Fatal(err)
	}
	d.server = server
	return d.Postgres(tb)
}

// Clock gives what sets the clock of a database that [Databases.Postgres] has made. The clock stands still from then on.
func (d *Databases) Clock(tb testing.TB, o database.PostgresOptions) (set func(time.Time)) {
	tb.Helper()
	owner, err := pgx.Connect(tb.Context(), d.server.URL(Owner, "postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := owner.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	return func(now time.Time) {
		_, err := owner.Exec(tb.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.service_clock() RETURNS bigint LANGUAGE sql VOLATILE
			AS 'SELECT %d::bigint'`, pgx.Identifier{o.Schema}.Sanitize(), now.UnixMicro()))
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// OpenPostgres opens a database for the test's life.
func OpenPostgres(tb testing.TB, o database.PostgresOptions) *database.DB {
	tb.Helper()
	db, err := database.OpenPostgres(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open: %v, caused by %v", err, errors.Unwrap(err))
	}
	closing(tb, db)
	return db
}

func closing(tb testing.TB, db *database.DB) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
}

// OpenSQLite opens the file for the test's life; "" is one of its own.
func OpenSQLite(tb testing.TB, file string) *database.DB {
	tb.Helper()
	if file == "" {
		file = filepath.Join(tb.TempDir(), "service.db")
	}
	db, err := database.OpenSQLite(file)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	closing(tb, db)
	return db
}

// OpenMemory opens a database in memory for the test's life.
func OpenMemory(tb testing.TB) *database.DB {
	tb.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	closing(tb, db)
	return db
}

// Each runs a test on a fresh database of every kind: in memory, in a file, on PostgreSQL.
func (d *Databases) Each(t *testing.T, run func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, c := range []struct {
		name string
		open func(t *testing.T) *database.DB
	}{
		{"memory", func(t *testing.T) *database.DB { t.Helper(); return OpenMemory(t) }},
		{"file", func(t *testing.T) *database.DB { t.Helper(); return OpenSQLite(t, "") }},
		{"postgres", func(t *testing.T) *database.DB { t.Helper(); return OpenPostgres(t, d.Postgres(t)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run(t, c.open(t))
		})
	}
}

// Login gives a connection as a role, for the test's life: to look at what stands there, and to
// change it behind everybody's back.
func (d *Databases) Login(tb testing.TB, role string, o database.PostgresOptions) *pgx.Conn {
	tb.Helper()
	config, err := pgx.ParseConfig(d.Server(tb).URL(role, "postgres"))
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
