package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/braidrun/braid/bench/scenario"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// homes creates the storage of the sides. It starts a private PostgreSQL server for the first side that needs one, on
// another core than the measured process.
type homes struct {
	server  *postgrestest.Server
	missing error
	made    int
}

func (h *homes) close() error {
	if h.server == nil {
		return nil
	}
	return h.server.Close()
}

// home is the storage of one side: a folder, and a database if it needs one.
type home struct{ folder, postgres string }

func (h *home) close() error { return os.RemoveAll(h.folder) }

// open creates a home. The error is [postgrestest.ErrMissing] if this machine cannot run the side.
func (h *homes) open(ctx context.Context, side string) (*home, error) {
	var url string
	if (&scenario.Served{Side: side}).OnPostgres() {
		if h.server == nil && h.missing == nil {
			h.server, h.missing = postgrestest.New(ctx)
		}
		if h.missing != nil {
			return nil, h.missing
		}
		h.made++
		var err error
		if url, err = scenario.PreparePostgres(ctx, h.server, fmt.Sprint("bench", h.made)); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp("", "braid-bench-")
	if err != nil {
		return nil, err
	}
	return &home{folder: folder, postgres: url}, nil
}

// readers connects readers to a side, with keys if it requires them.
func (h *home) readers(ctx context.Context, s *scenario.Served, proc *sideProcess, n int) ([]*loader, error) {
	keys := []string{proc.token}
	if s.Tenanted() {
		var err error
		if keys, err = s.Keys(); err != nil {
			return nil, err
		}
		keys = keys[:scenario.Tenants]
	}
	return loaders(ctx, proc.addr, keys, s.Side != scenario.SideFloor && s.Side != scenario.SideTogether, n)
}

// skipped reports whether an error means that this machine cannot run the side, which is not a failure.
func skipped(err error) bool { return errors.Is(err, postgrestest.ErrMissing) }
