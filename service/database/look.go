package database

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/braidrun/braid/internal/pg"
)

// Look is [DB.Read] for one query, and calls each with every row. On PostgreSQL it takes one
// round trip instead of four, because it sends the query together with its scope as one
// transaction. A retry calls each again from the first row.
func (db *DB) Look(ctx context.Context, op, tenant, statement string, args []any, each func(scan func(into ...any) error) error) error {
	if !db.shared {
		return db.Read(ctx, op, tenant, func(tx *Tx) error { return tx.List(statement, args, each) })
	}
	for n := 1; ; n++ {
		err := pg.WithRoom(ctx, func() error { return db.ask(ctx, scope{ofTenant, tenant}, db.marks(statement), args, each) })
		if err == nil {
			return nil
		}
		if n == attempts || ctx.Err() != nil || !again(err, false) {
			return pg.AtWork(fault(op, err))
		}
	}
}

// Call is [DB.Write] for one statement that calls a function, and scans its one row into into. On
// PostgreSQL it takes one round trip instead of four. repeats allows another call with the same
// arguments if the outcome of the first is unknown; without it such a call fails.
func (db *DB) Call(ctx context.Context, op, tenant, statement string, args []any, repeats bool, into ...any) error {
	if !db.shared {
		return db.Write(ctx, op, tenant, func(tx *Tx) error {
			_, err := tx.Get(statement, args, into...)
			return err
		})
	}
	row := func(scan func(into ...any) error) error { return scan(into...) }
	for n := 1; ; n++ {
		err := pg.WithRoom(ctx, func() error { return db.ask(ctx, scope{ofTenant, tenant}, db.marks(statement), args, row) })
		if err == nil {
			return nil
		}
		if pg.Code(err) == pg.DiskFull {
			db.space.Failed()
		}
		if n == attempts || ctx.Err() != nil || !again(err, !repeats) && !pgconn.SafeToRetry(err) {
			return pg.AtWork(fault(op, err))
		}
	}
}

// ask sends a query together with its scope. Both are one transaction, which ends the scope.
func (db *DB) ask(ctx context.Context, who scope, statement string, args []any, each func(scan func(into ...any) error) error) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) (err error) {
		var batch pgx.Batch
		batch.Queue(who.set, who.of)
		batch.Queue(statement, args...)
		results := driver.(*stdlib.Conn).Conn().SendBatch(ctx, &batch) //nolint:forcetypeassert // OpenPostgres uses no other driver
		defer func() { err = errors.Join(err, results.Close()) }()
		if _, err := results.Exec(); err != nil {
			return err
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
