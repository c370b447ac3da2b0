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

// Options configure a [Store].
type Options struct {
	// URL is the address with the role, in libpq's form:
	// "postgres://role:password@host/database", or "host=… user=…".
	URL string
	// Schema contains the tables; empty means "braid".
	Schema string
	// Term is the duration of a lease; 0 or less means [journal.DefaultTerm].
	Term time.Duration
	// Connections is the maximum number of connections; 0 or less means the address's
	// pool_max_conns, or else 5. Further calls wait for a connection.
	Connections int
	// Patience is the timeout of each statement, and again of each wait for a lock or for a
	// server that does not answer; 0 or less means 10 s.
	Patience time.Duration
}

// String hides the address, which may contain a password.
func (o Options) String() string { return "the settings of a journal on PostgreSQL" }

// GoString hides the address too.
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

// Store is the [journal.Journal] in a PostgreSQL database. [Open] makes it. It is safe for
// concurrent use, and any number of stores in any number of processes may share one database.
type Store struct {
	pool     *pgxpool.Pool
	term     time.Duration
	patience time.Duration
	closed   atomic.Bool
	lost     lostLeases
	space    lowspace.Watch
}

var _ journal.Journal = (*Store)(nil)

// Open opens the journal that [Migrate] has created, and connects to it.
//
// It returns ErrInvalid for an invalid address and ErrUnavailable if nothing answers there. It
// returns ErrPermission if the role may not log in, lacks rights or can bypass row-level
// security. It returns ErrUnsupported if the journal is missing or older, and ErrNewer if a newer
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
	config.MaxConns = int32(pg.Connections(config, o.URL, o.Connections, defaultConnections))
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

// ask reads one row without a tenant.
func (s *Store) ask(ctx context.Context, text string, args ...any) pg.Row {
	return s.pool.QueryRow(ctx, text, args...)
}

// config parses the address and adds the settings of all connections.
func (o Options) config(op string) (*pgxpool.Config, error) {
	return pg.Config(op, o.URL, o.schema(), o.patience())
}

// Pool is the state of a store's connection pool.
type Pool struct {
	// Most is the maximum of connections, Used the number of busy ones, Idle that of idle ones.
	Most, Used, Idle int
	// Waits counts the calls that waited for a connection, and Waited is their total waiting
	// time.
	Waits  int64
	Waited time.Duration
}

// Pool returns the current state of the connection pool. It is safe for concurrent use.
func (s *Store) Pool() Pool {
	now := s.pool.Stat()
	return Pool{
		Most: int(now.MaxConns()), Used: int(now.AcquiredConns()), Idle: int(now.IdleConns()),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime(),
	}
}

// Close waits for running calls and refuses later ones. It may be called again.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.pool.Close()
	return nil
}
