package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/braidrun/braid/bench/scenario"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// homes makes the places where sides keep things. The PostgreSQL server, which is one of its
// own and runs beside the cores' measured one, is started for the first side that needs it.
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

// home is where one side keeps things: a folder, and a database where it needs one.
type home struct{ folder, postgres string }

func (h *home) close() error { return os.RemoveAll(h.folder) }

// open makes a home. Its error is [postgrestest.ErrMissing] where the side cannot be here.
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

// readers connects readers to a side, each with a key where it asks for one.
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

// skipped says that a side cannot be measured here, and is no failure.
func skipped(err error) bool { return errors.Is(err, postgrestest.ErrMissing) }
