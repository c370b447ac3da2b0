package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Tenants is how many there are on a side that has them. One more is inactive.
const Tenants = 50

// The roles that a side's database has: who owns the tables, and whom the server is.
const (
	ownerRole  = "bench_owner"
	serverRole = "bench_server"
)

// PreparePostgres makes a database for one side on a server, and gives its address.
func PreparePostgres(ctx context.Context, s *postgrestest.Server, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, s.URL(postgrestest.Superuser, "postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, role := range []string{ownerRole, serverRole} {
		var there bool
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, role).Scan(&there); err != nil {
			return "", err
		}
		if there {
			continue
		}
		if _, err := conn.Exec(ctx, `CREATE ROLE `+role+` LOGIN`); err != nil {
			return "", err
		}
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{name}.Sanitize()+` OWNER `+ownerRole); err != nil {
		return "", err
	}
	owner := s.URL(ownerRole, name)
	if err := postgres.Migrate(ctx, postgres.Options{URL: owner}, serverRole); err != nil {
		return "", err
	}
	return s.URL(serverRole, name), database.MigratePostgres(ctx, database.PostgresOptions{URL: owner}, serverRole)
}

func (s *Served) onPostgres(ctx context.Context) (http.Handler, func() error, error) {
	store, err := postgres.Open(ctx, postgres.Options{URL: s.Postgres})
	if err != nil {
		return nil, nil, err
	}
	db, err := database.OpenPostgres(ctx, database.PostgresOptions{URL: s.Postgres})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return s.onDatabase(ctx, store, db, store.Close)
}

// onDatabase is the server with the service's own database, and tenants in it where the side
// has them.
func (s *Served) onDatabase(
	ctx context.Context, store journal.Journal, db *database.DB, end func() error,
) (http.Handler, func() error, error) {
	end = joined(db.Close, end)
	rows := service.NewRows(db)
	if !s.Tenanted() {
		return s.braid(ctx, store, rows, nil, end)
	}
	dir := directory.New(directory.Options{Database: db})
	end = joined(dir.Close, end)
	if err := s.settle(ctx, dir); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return s.braid(ctx, store, rows, dir, end)
}

func joined(first, then func() error) func() error {
	return func() error { return errors.Join(first(), then()) }
}

func (s *Served) keysFile() string { return filepath.Join(s.Folder, "keys") }

// Keys are the tenants' keys, that of the inactive one last. They are there once the side is.
func (s *Served) Keys() ([]string, error) {
	raw, err := os.ReadFile(s.keysFile())
	return strings.Fields(string(raw)), err
}

// settle makes the tenants, unless an earlier process has.
func (s *Served) settle(ctx context.Context, dir *directory.Directory) error {
	if _, err := os.Stat(s.keysFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	by := directory.By{Operator: true}
	model := directory.Model{ID: "generator", Provider: "demo", Name: "generator", Aliases: []string{"sonnet"}}
	if _, err := dir.CreateModel(ctx, by, model, ""); err != nil {
		return err
	}
	var keys []string
	for i := range Tenants + 1 {
		id := fmt.Sprintf("tenant-%02d", i)
		tenant := directory.Tenant{ID: id, SystemPrompt: "You answer for " + id + ".", Model: "sonnet"}
		if _, err := dir.CreateTenant(ctx, by, tenant, ""); err != nil {
			return err
		}
		agent := directory.Agent{Tenant: id, ID: "assistant"}
		agent.Instructions, agent.Model = "Answer in plain words.", "sonnet"
		if _, err := dir.CreateAgent(ctx, by, agent, ""); err != nil {
			return err
		}
		_, key, err := dir.CreateKey(ctx, by, directory.Key{Tenant: id, Scopes: []directory.Scope{service.ScopeRead, service.ScopeWrite}}, "")
		if err != nil {
			return err
		}
		keys = append(keys, key.Reveal())
		if _, err := dir.UpdateTenant(ctx, by, id, 0, func(t *directory.Tenant) error {
			t.Agent = "assistant"
			if i == Tenants {
				t.Status = directory.Inactive
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return os.WriteFile(s.keysFile(), []byte(strings.Join(keys, "\n")), 0o600)
}
