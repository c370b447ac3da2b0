package postgres

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lowspace"
	"github.com/braidrun/braid/journal"
)

// Options are the settings of a [Store].
type Options struct {
	// URL says where the database is and as whom to ask it, as libpq does:
	// "postgres://role:password@host/database", or "host=… user=…".
	URL string
	// Schema is where the tables are; empty means "braid".
	Schema string
	// Term is how long a lease lasts; 0 or less means [journal.DefaultTerm].
	Term time.Duration
	// Connections bounds how many there are to the database; 0 or less means the address's
	// pool_max_conns, or else 5. Calls beyond that wait in line for one.
	Connections int
	// Patience bounds each statement, and as long again each wait for a lock or for
	// a server that does not answer; 0 or less means 10 s.
	Patience time.Duration
}

// String tells nothing: there may be a password in the address.
func (o Options) String() string { return "the settings of a journal on PostgreSQL" }

// GoString tells nothing either.
func (o Options) GoString() string { return o.String() }

const (
	defaultSchema      = "braid"
	defaultConnections = 5
	defaultPatience    = 10 * time.Second
)

func (o Options) schema() string {
	if o.Schema == "" {
		return defaultSchema
	}
	return o.Schema
}

func (o Options) patience() time.Duration {
	if o.Patience <= 0 {
		return defaultPatience
	}
	return o.Patience
}

// Store is the [journal.Store] in a PostgreSQL database. [Open] makes it. Any
// number of them, in any number of processes, may share one database.
type Store struct {
	pool     *pgxpool.Pool
	term     time.Duration
	patience time.Duration
	closed   atomic.Bool
	lost     lostLeases
	space    lowspace.Watch
}

var _ journal.Journal = (*Store)(nil)

// Open opens the journal that [Migrate] has made. It asks the database before it
// answers.
//
// Errors are of these kinds: ErrInvalid for an address that cannot be read,
// ErrUnavailable where nobody answers there, ErrPermission where the role may not
// log in, lacks rights, or has so many that row-level security does not bind it,
// ErrUnsupported where there is no journal or an older one, ErrNewer where a newer
// version of Braid wrote it.
func Open(ctx context.Context, o Options) (*Store, error) {
	const op = "journal open"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil || o.URL == "" {
		return nil, badAddress(op)
	}
	settle(config.ConnConfig, o)
	// Every statement looks a few rows up by an index. A plan that was made while a table was
	// small would read the whole of it for as long as it is kept.
	for _, way := range []string{"seqscan", "bitmapscan", "hashjoin", "mergejoin"} {
		config.ConnConfig.RuntimeParams["enable_"+way] = "off"
	}
	// A table that has to be read all the same, however small, then looks so dear that the database
	// would compile the statement, which takes a hundred times as long as to run it.
	config.ConnConfig.RuntimeParams["jit"] = "off"
	switch {
	case o.Connections > 0:
		config.MaxConns = int32(min(o.Connections, 10_000))
	case !strings.Contains(o.URL, "pool_max_conns"):
		config.MaxConns = defaultConnections
	}
	config.MinConns = 0
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, keepDurable)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault(op, err)
	}
	s := &Store{pool: pool, term: o.Term, patience: o.patience()}
	if s.term <= 0 {
		s.term = journal.DefaultTerm
	}
	if err := withRoom(ctx, func() error { return s.inspect(ctx, op, o.schema()) }); err != nil {
		pool.Close()
		return nil, fault(op, err)
	}
	return s, nil
}

// keepDurable lets a commit wait for the disk also where the database or the role was
// told otherwise. Whoever was told to wait for more still does.
const keepDurable = `SELECT set_config('synchronous_commit', 'on', false)
	WHERE current_setting('synchronous_commit') = 'off'`

// settle sets what all connections have in common.
func settle(c *pgx.ConnConfig, o Options) {
	ms := strconv.FormatInt(o.patience().Milliseconds(), 10)
	c.RuntimeParams["search_path"] = pgx.Identifier{o.schema()}.Sanitize() + ", pg_temp"
	c.RuntimeParams["statement_timeout"] = ms
	c.RuntimeParams["lock_timeout"] = ms
	// A process that stops in the middle of a transaction holds others up no longer than this.
	c.RuntimeParams["idle_in_transaction_session_timeout"] = ms
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "braid"
	}
	c.ConnectTimeout = o.patience()
}

const (
	// Whether the role can get round row-level security: by what it is, or as
	// the owner of the tables.
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
func (s *Store) inspect(ctx context.Context, op, schema string) error {
	var mighty, there bool
	var encoding string
	if err := s.pool.QueryRow(ctx, selectRole, schema).Scan(&mighty, &encoding); err != nil {
		return err
	}
	if mighty {
		return &event.Error{
			Op: op, Kind: event.ErrPermission,
			Message: "the role for the journal can see past row-level security",
			Hint:    "use a role that is no superuser, lacks BYPASSRLS, and is not the owner of the tables",
		}
	}
	if encoding != "UTF8" {
		return &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the database does not keep text as UTF-8",
			Hint: "make a database with the encoding UTF8",
		}
	}
	if err := s.pool.QueryRow(ctx, selectThere, schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		return noJournal(op)
	}
	var version, known int64 = 0, latest()
	if err := s.pool.QueryRow(ctx, selectVersion).Scan(&version); err != nil {
		return err
	}
	switch {
	case version > known:
		return newer(op, version, known)
	case version == 0:
		return noJournal(op)
	case version < known:
		return older(op, version, known)
	}
	var tables, forced int
	if err := s.pool.QueryRow(ctx, selectForced, schema).Scan(&tables, &forced); err != nil {
		return err
	}
	if forced != tables {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "row-level security is not in force on the journal's tables",
			Hint: "somebody has turned it off: force it again on all of them",
		}
	}
	return nil
}

// Pool says how full a store's connections are.
type Pool struct {
	// Most bounds the connections; Used are those that work, Idle those that wait for work.
	Most, Used, Idle int
	// Waits counts the calls that had to wait for a connection, and Waited adds up how long.
	Waits  int64
	Waited time.Duration
}

// Pool says how full the connections to the database are now.
func (s *Store) Pool() Pool {
	now := s.pool.Stat()
	return Pool{
		Most: int(now.MaxConns()), Used: int(now.AcquiredConns()), Idle: int(now.IdleConns()),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime(),
	}
}

// Close waits for the calls that are under way and refuses all others. It may be
// called again.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.pool.Close()
	return nil
}
