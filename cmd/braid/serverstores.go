package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/database"
)

// serviceFile is the name of the service's database in the data folder.
const serviceFile = "service.db"

// stores holds a server's databases: two files in the data folder, for one process, or a PostgreSQL
// database, for many.
type stores struct {
	journal interface {
		journal.Journal
		Close() error
	}
	database *database.DB
	// shared is set if other processes may use the same database.
	shared bool
}

// where describes the location for users.
func (s *stores) where(cfg *conf.Config) string {
	if s.shared {
		return "PostgreSQL; token and files in " + cfg.Data
	}
	return cfg.Data
}

// serve returns the stores for the server, which does not close them.
func (s *stores) serve() serve.Store {
	var pools map[string]func() server.Pool
	if far, ok := s.journal.(*postgres.Store); ok {
		pools = serve.Pools(far, s.database)
	}
	return serve.Opened(s.journal, s.database, s.shared, pools)
}

// close closes the open databases.
func (s *stores) close() error {
	var errs []error
	if s.database != nil {
		errs = append(errs, s.database.Close())
	}
	if s.journal != nil {
		errs = append(errs, s.journal.Close())
	}
	return errors.Join(errs...)
}

// openStores opens the databases. After an error none stays open.
func (p *process) openStores(ctx context.Context, cfg *conf.Config, in *conf.Invocation) (_ *stores, err error) {
	address, err := p.postgresAddress(in, true)
	if err != nil {
		return nil, err
	}
	s := &stores{shared: !address.Empty()}
	defer func() {
		if err != nil {
			_ = s.close() // the first error counts
		}
	}()
	if s.shared {
		err = s.openShared(ctx, p, cfg, in, address.Reveal())
	} else {
		err = s.openOwn(p, cfg)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stores) openOwn(p *process, cfg *conf.Config) error {
	own, err := p.openStore(cfg)
	if err != nil {
		return err
	}
	s.journal = own
	s.database, err = database.OpenSQLite(filepath.Join(cfg.Data, serviceFile))
	return storeError(p.spaceError(err, cfg.Data))
}

func (s *stores) openShared(ctx context.Context, p *process, cfg *conf.Config, in *conf.Invocation, url string) error {
	forJournal, forService, err := p.connections(in, url)
	if err != nil {
		return err
	}
	if err := checkFolder(cfg.Data); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil { // for the token, and files of conversations
		return storeError(&event.Error{Kind: event.ErrPermission, Message: "the data folder cannot be made", Err: err})
	}
	far, err := postgres.Open(ctx, postgres.Options{URL: url, Connections: forJournal, Term: cfg.Lease})
	if err != nil {
		return postgresError(err)
	}
	s.journal = far
	s.database, err = database.OpenPostgres(ctx, database.PostgresOptions{URL: url, Connections: forService})
	return postgresError(err)
}
