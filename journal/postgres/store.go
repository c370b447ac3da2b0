package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidrun/braid/internal/lowspace"
	"github.com/braidrun/braid/internal/pg"
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
	config, err := o.config(op)
	if err != nil {
		return nil, err
	}
	pg.UseIndexes(config.ConnConfig)
	config.MaxConns = int32(pg.Connections(config, o.URL, o.Connections, defaultConnections)) //nolint:gosec // it is bounded
	config.MinConns = 0
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, pg.KeepDurable)
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
	if err := pg.WithRoom(ctx, func() error { return tables.Inspect(ctx, op, o.schema(), s.ask) }); err != nil {
		pool.Close()
		return nil, fault(op, err)
	}
	return s, nil
}

// ask asks for one row without a tenant.
func (s *Store) ask(ctx context.Context, text string, args ...any) pg.Row {
	return s.pool.QueryRow(ctx, text, args...)
}

// config reads the address and sets what all connections have in common.
func (o Options) config(op string) (*pgxpool.Config, error) {
	return pg.Config(op, o.URL, o.schema(), o.patience())
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
