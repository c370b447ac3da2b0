package postgres

import (
	"context"
	"crypto/rand"

	"github.com/braidrun/braid/internal/lowspace"
	"github.com/braidrun/braid/internal/pg"
)

const (
	// A standby server is read-only, and so is a server without space at some providers.
	selectReadOnly = `SELECT current_setting('transaction_read_only')::bool`

	// The probe is rolled back and never visible. No owner of state has this name.
	insertProbe = `INSERT INTO state (tenant, owner, name, value) VALUES ('', 'probe', $1, $2)`
)

// Check implements [journal.Catalog]. It is one short question. Once a write has found no space, it also writes, at most once a
// second and until that succeeds.
func (s *Store) Check(ctx context.Context) error {
	const op = "journal check"
	if err := alive(ctx, op); err != nil {
		return err
	}
	var readOnly bool
	if err := s.pool.QueryRow(ctx, selectReadOnly).Scan(&readOnly); err != nil {
		return pg.AtWork(fault(op, err))
	}
	if readOnly {
		e := tables.Error(pg.ReadOnly)
		e.Op = op
		return e
	}
	return s.space.Check(ctx, s.probe)
}

// probe writes incompressible data and rolls back.
func (s *Store) probe(ctx context.Context) error {
	name, value := make([]byte, 16), make([]byte, lowspace.Bytes)
	_, _ = rand.Read(name) // it never fails
	_, _ = rand.Read(value)
	return s.transact(ctx, "journal check", ofTenant(""), func(x *tx) error {
		return x.begin(beginWrite, do(insertProbe, name, value), do(`ROLLBACK`))
	})
}

// Scrub implements [journal.Catalog]. It removes blobs that cannot be reached. The files are the database's, whose vacuum
// takes out of them what was removed.
func (s *Store) Scrub(ctx context.Context) error { return s.Blobs().Sweep(ctx) }
