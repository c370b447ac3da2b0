package serve

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/database"
)

// Store is where a server keeps conversations, tenants and keys. The zero Store keeps them in
// memory until the server is closed.
type Store struct {
	open func(ctx context.Context) (*opened, error)
}

// opened is an open store.
type opened struct {
	journal  journal.Journal
	database *database.DB
	// shared reports that other processes may use the same store.
	shared bool
	// pools return the state of the database's connection pools.
	pools map[string]func() server.Pool
	// undo closes the store's parts, to be called in reverse order.
	undo []func() error
}

func (o *opened) close() error {
	var errs []error
	for i := len(o.undo) - 1; i >= 0; i-- {
		errs = append(errs, o.undo[i]())
	}
	o.undo = nil
	return errors.Join(errs...)
}

// Folder stores everything in two SQLite files in a folder, which it creates if necessary. Only one
// process at a time can open the folder. braid serve uses the same files, so braid conversations
// and braid show can read them.
func Folder(dir string) Store {
	return Store{func(context.Context) (*opened, error) {
		kept, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		o := &opened{journal: kept, undo: []func() error{kept.Close}}
		o.database, err = database.OpenSQLite(filepath.Join(dir, serviceFile))
		return o.ready(err)
	}}
}

// serviceFile is the service's database in a folder.
const serviceFile = "service.db"

// Postgres stores everything in a PostgreSQL database that braid migrate has prepared. Any number
// of servers may share it. The address may contain a password: no error and no log shows it.
func Postgres(url string) Store {
	return Store{func(ctx context.Context) (*opened, error) {
		kept, err := postgres.Open(ctx, postgres.Options{URL: url})
		if err != nil {
			return nil, err
		}
		o := &opened{journal: kept, shared: true, undo: []func() error{kept.Close}}
		o.database, err = database.OpenPostgres(ctx, database.PostgresOptions{URL: url})
		if err == nil {
			o.pools = Pools(kept, o.database)
		}
		return o.ready(err)
	}}
}

// opened opens the store.
func (s Store) opened(ctx context.Context) (*opened, error) {
	if s.open != nil {
		return s.open(ctx)
	}
	o := &opened{journal: &journal.Memory{}}
	var err error
	o.database, err = database.OpenMemory()
	return o.ready(err)
}

// ready adds the database, or closes the open parts after an error.
func (o *opened) ready(err error) (*opened, error) {
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	o.undo = append(o.undo, o.database.Close)
	return o, nil
}

// Opened returns a Store that is already open. The server does not close it. shared says that other
// processes may use the same journal and database.
func Opened(j journal.Journal, d *database.DB, shared bool, pools map[string]func() server.Pool) Store {
	return Store{func(context.Context) (*opened, error) {
		return &opened{journal: j, database: d, shared: shared, pools: pools}, nil
	}}
}

// Pools returns the state of the connection pools of a PostgreSQL database.
func Pools(j *postgres.Store, d *database.DB) map[string]func() server.Pool {
	return map[string]func() server.Pool{
		"journal": func() server.Pool {
			now := j.Pool()
			return server.Pool{Most: now.Most, Used: now.Used, Idle: now.Idle, Waits: now.Waits, Waited: now.Waited.Seconds()}
		},
		"service": func() server.Pool {
			now := d.Stats()
			return server.Pool{
				Most: now.MaxOpenConnections, Used: now.InUse, Idle: now.Idle, Waits: now.WaitCount, Waited: now.WaitDuration.Seconds(),
			}
		},
	}
}
