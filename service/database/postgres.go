package database

import (
	"context"
	"database/sql"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/braidrun/braid/event"
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
func (o PostgresOptions) config(op string) (*pgx.ConnConfig, error) {
	pool, err := pgxpool.ParseConfig(o.URL) // which knows the parameters of a pool
	if err != nil || o.URL == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the database's address cannot be read", Hint: "write it as postgres://role@host/database",
		}
	}
	c := pool.ConnConfig
	patience := o.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	ms := strconv.FormatInt(patience.Milliseconds(), 10)
	maps.Copy(c.RuntimeParams, map[string]string{
		"search_path":       pgx.Identifier{o.schema()}.Sanitize() + ", pg_temp",
		"statement_timeout": ms,
		"lock_timeout":      ms,
		// A process that stops in the middle of a transaction holds others up no longer than this.
		"idle_in_transaction_session_timeout": ms,
		"client_encoding":                     "UTF8",
	})
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "braid"
	}
	c.ConnectTimeout = patience
	return c, nil
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
	// Every statement looks a few rows up by an index. A plan that was made while a table was small
	// would read the whole of it, or take the index of all of a tenant's rows, for as long as it is kept:
	// so none is, and each statement is planned for what is there.
	config.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	for _, way := range []string{"seqscan", "bitmapscan", "hashjoin", "mergejoin"} {
		config.RuntimeParams["enable_"+way] = "off"
	}
	// A table that has to be read all the same, however small, then looks so dear that the database
	// would compile the statement, which takes a hundred times as long as to run it.
	config.RuntimeParams["jit"] = "off"
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, keepDurable)
		return err
	}))
	n := o.Connections
	if n <= 0 {
		n = PoolOf(o.URL, defaultConnections)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := withRoom(ctx, func() error { return inspect(ctx, op, db, o.schema()) }); err != nil {
		_ = db.Close()
		return nil, fault(op, err)
	}
	return &DB{sql: db, shared: true}, nil
}

// keepDurable lets a commit wait for the disk also where the database or the role was
// told otherwise. Whoever was told to wait for more still does.
const keepDurable = `SELECT set_config('synchronous_commit', 'on', false)
	WHERE current_setting('synchronous_commit') = 'off'`

const (
	// Whether the role can get round row-level security: by what it is, or as the owner of
	// the tables.
	selectRole = `SELECT r.rolsuper OR r.rolbypassrls OR EXISTS (
			SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind = 'r' AND pg_has_role(r.oid, c.relowner, 'MEMBER')),
		current_setting('server_encoding')
		FROM pg_roles r WHERE r.rolname = current_user`

	// How many tables hold tenants' rows, and how many of them keep them apart.
	selectForced = `SELECT count(*), count(*) FILTER (WHERE c.relrowsecurity AND c.relforcerowsecurity)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> '` + versionTable + `'`

	selectThere = `SELECT to_regclass(quote_ident($1) || '.` + versionTable + `') IS NOT NULL`
)

// inspect refuses a database that cannot be trusted with tenants' words.
func inspect(ctx context.Context, op string, db *sql.DB, schema string) error {
	var mighty, there bool
	var encoding string
	if err := db.QueryRowContext(ctx, selectRole, schema).Scan(&mighty, &encoding); err != nil {
		return err
	}
	if mighty {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the role for the service's database can see past row-level security",
			Hint: "use a role that is no superuser, lacks BYPASSRLS, and is not the owner of the tables",
		}
	}
	if encoding != "UTF8" {
		return &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the database does not keep text as UTF-8", Hint: "make a database with the encoding UTF8",
		}
	}
	if err := db.QueryRowContext(ctx, selectThere, schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		return notThere(op)
	}
	var version, known int64 = 0, latest()
	if err := db.QueryRowContext(ctx, selectVersion).Scan(&version); err != nil {
		return err
	}
	switch {
	case version > known:
		return newer(op, version, known)
	case version == 0:
		return notThere(op)
	case version < known:
		return older(op, version, known)
	}
	var tables, forced int
	if err := db.QueryRowContext(ctx, selectForced, schema).Scan(&tables, &forced); err != nil {
		return err
	}
	if forced != tables {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "row-level security is not in force on the service's tables",
			Hint: "somebody has turned it off: force it again on all of them",
		}
	}
	return checkEraser(ctx, op, db, schema)
}
