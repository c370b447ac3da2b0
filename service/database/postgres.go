package database

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/braidrun/braid/internal/pg"
)

// PostgresOptions locate a database.
type PostgresOptions struct {
	// URL is the address with the role, in libpq's form:
	// "postgres://role:password@host/database", or "host=… user=…".
	URL string
	// Schema contains the tables; empty means "braid_service". The journal has another schema.
	Schema string
	// Connections is the maximum number of connections; 0 or less means the address's
	// pool_max_conns, or else 3. Further calls wait for a connection.
	Connections int
	// Patience is the timeout of each statement, and again of each wait for a lock or for a
	// server that does not answer; 0 or less means 10 s.
	Patience time.Duration
}

// String hides the address, which may contain a password.
func (PostgresOptions) String() string { return "the settings of the service's database on PostgreSQL" }

// GoString hides the address too.
func (o PostgresOptions) GoString() string { return o.String() }

const (
	defaultSchema      = "braid_service"
	defaultConnections = 3
	defaultPatience    = 10 * time.Second
)

func (o PostgresOptions) schema() string {
	if o.Schema == "" {
		return defaultSchema
	}
	return o.Schema
}

// config parses the address and adds the settings of all connections.
func (o PostgresOptions) config(op string) (*pgxpool.Config, error) {
	patience := o.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	return pg.Config(op, o.URL, o.schema(), patience)
}

// PoolOf returns the pool_max_conns of an address, or byDefault.
func PoolOf(address string, byDefault int) int {
	pool, err := pgxpool.ParseConfig(address)
	if err != nil || !strings.Contains(address, "pool_max_conns") {
		return byDefault
	}
	return int(pool.MaxConns)
}

// OpenPostgres opens the database that [MigratePostgres] has created, and connects to it.
//
// It returns ErrInvalid for an invalid address and ErrUnavailable if nothing answers there. It
// returns ErrPermission if the role may not log in, lacks rights, can bypass row-level security
// or can erase an audit. It returns ErrUnsupported if the tables are missing or older, and
// ErrNewer if a newer version of Braid made them.
func OpenPostgres(ctx context.Context, o PostgresOptions) (*DB, error) {
	const op = "open the service's database"
	config, err := o.config(op)
	if err != nil {
		return nil, err
	}
	pg.UseIndexes(config.ConnConfig)
	// A cached plan may choose the index of all of a tenant's rows, so each statement is planned
	// anew.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	db := stdlib.OpenDB(*config.ConnConfig, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, pg.KeepDurable)
		return err
	}))
	n := pg.Connections(config, o.URL, o.Connections, defaultConnections)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := pg.WithRoom(ctx, func() error { return inspect(ctx, op, db, o.schema()) }); err != nil {
		_ = db.Close()
		return nil, fault(op, err)
	}
	return &DB{sql: db, shared: true}, nil
}

// inspect refuses a database that does not isolate tenants.
func inspect(ctx context.Context, op string, db *sql.DB, schema string) error {
	ask := func(ctx context.Context, text string, args ...any) pg.Row {
		return db.QueryRowContext(ctx, text, args...)
	}
	if err := sharedTables.Inspect(ctx, op, schema, ask); err != nil {
		return err
	}
	return checkEraser(ctx, op, db, schema)
}
