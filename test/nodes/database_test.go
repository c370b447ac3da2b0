//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// The roles of the tests: the owner of the tables, and the servers' role.
const (
	owner  = "braid_owner"
	server = "braid_server"
)

// errNotAsked keeps tests that need only Go free of databases.
var errNotAsked = errors.New("these tests start PostgreSQL and braid servers: scripts/test-peers service runs them, or BRAID_POSTGRES=try")

// postgresServer starts a server that requires passwords.
func postgresServer(ctx context.Context, more ...string) (*postgrestest.Server, error) {
	if os.Getenv("BRAID_POSTGRES") == "" {
		return nil, errNotAsked
	}
	file, err := os.CreateTemp("", "hba")
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString("local all " + postgrestest.Superuser + " trust\nlocal all all scram-sha-256\n")
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err != nil {
		return nil, err
	}
	s, err := postgrestest.New(ctx, append([]string{"hba_file=" + file.Name()}, more...)...)
	if err != nil {
		return nil, err
	}
	return s, sql(ctx, s, "postgres",
		`CREATE ROLE `+owner+` LOGIN PASSWORD '`+plantedOwner+`'`, `CREATE ROLE `+server+` LOGIN PASSWORD '`+plantedPassword+`'`)
}

// sql executes statements as the superuser.
func sql(ctx context.Context, s *postgrestest.Server, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.URL(postgrestest.Superuser, database))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// withPassword adds a password to an address.
func withPassword(address, password string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}

// base is a database that servers share.
type base struct {
	pg   *postgrestest.Server
	name string
	// owner and server are the addresses of the two roles, with their passwords.
	owner, server string
}

var bases atomic.Int64

// database creates an empty database on the server.
func database(t *testing.T, pg *postgrestest.Server) *base {
	t.Helper()
	b := &base{pg: pg, name: fmt.Sprint("braid_", bases.Add(1))}
	if err := sql(t.Context(), pg, "postgres", `CREATE DATABASE `+b.name+` OWNER `+owner); err != nil {
		t.Fatal(err)
	}
	b.owner = withPassword(pg.URL(owner, b.name), plantedOwner)
	b.server = withPassword(pg.URL(server, b.name), plantedPassword)
	return b
}

// migrated returns a migrated database.
func migrated(t *testing.T, pg *postgrestest.Server) *base {
	t.Helper()
	b := database(t, pg)
	out, code := command(t, []string{"BRAID_POSTGRES_URL=" + b.owner}, "migrate", "--role", server)
	if code != 0 {
		t.Fatalf("braid migrate ended with %d: %s", code, out)
	}
	return b
}

// journal opens the journal beside the servers.
func (b *base) journal(t *testing.T) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: b.server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// write is a commit: its last event and its lease's epoch.
type write struct{ Last, Epoch int64 }

// writes returns the commits of a conversation's log, in order.
func (b *base) writes(t *testing.T, conversation string) []write {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, b.pg.URL(postgrestest.Superuser, b.name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT l.last, l.epoch FROM braid.log l JOIN braid.conversation c ON c.key = l.conversation
		WHERE c.id = $1 ORDER BY l.last`, conversation)
	if err != nil {
		t.Fatal(err)
	}
	writes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[write])
	if err != nil {
		t.Fatal(err)
	}
	return writes
}

// script returns the path of the model's script.
func script() string {
	path, err := filepath.Abs("testdata/clerk.yaml")
	if err != nil {
		panic(err)
	}
	return "demo:" + path
}
