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

// PostgresOptions say where a database is.
type PostgresOptions struct {
	// URL says where it is and as whom to ask it, as libpq does:
	// "postgres://role:password@host/database", or "host=… user=…".
	URL string
	// Schema is where the tables are; empty means "braid_service". The journal's is another one.
	Schema string
	// Connections bounds how many there are to the database; 0 or less means the address's
	// pool_max_conns, or else 3. Calls beyond that wait in line for one.
	Connections int
	// Patience bounds each statement, and as long again each wait for a lock or for a
	// server that does not answer; 0 or less means 10 s.
	Patience time.Duration
}

// String tells nothing: there may be a password in the address.
func (PostgresOptions) String() string { return "the settings of the service's database on PostgreSQL" }

// GoString tells nothing either.
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

// config reads the address and sets what all connections have in common.
func (o PostgresOptions) config(op string) (*pgxpool.Config, error) {
	patience := o.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	return pg.Config(op, o.URL, o.schema(), patience)
}

// PoolOf is the pool_max_conns of an address, or byDefault where it has none.
func PoolOf(address string, byDefault int) int {
	pool, err := pgxpool.ParseConfig(address)
	if err != nil || !strings.Contains(address, "pool_max_conns") {
		return byDefault
	}
	return int(pool.MaxConns)
}

// OpenPostgres opens the database that [MigratePostgres] has made. It asks it before it answers.
//
// Errors are of these kinds: ErrInvalid for an address that cannot be read, ErrUnavailable where
// nobody answers there, ErrPermission where the role may not log in, lacks rights, or has so many
// that row-level security does not bind it or that it could erase an audit, ErrUnsupported where the tables are not there or
// older, ErrNewer where a newer version of Braid made them.
func OpenPostgres(ctx context.Context, o PostgresOptions) (*DB, error) {
	const op = "open the service's database"
	config, err := o.config(op)
	if err != nil {
		return nil, err
	}
	pg.UseIndexes(config.ConnConfig)
	// A kept plan could also take the index of all of a tenant's rows, so each statement is planned for what is there.
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

// inspect refuses a database that cannot be trusted with tenants' data.
func inspect(ctx context.Context, op string, db *sql.DB, schema string) error {
	ask := func(ctx context.Context, text string, args ...any) pg.Row {
		return db.QueryRowContext(ctx, text, args...)
	}
	if err := sharedTables.Inspect(ctx, op, schema, ask); err != nil {
		return err
	}
	return checkEraser(ctx, op, db, schema)
}
