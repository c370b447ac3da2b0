package database

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// Scrub removes deleted data from the file's write-ahead log; in the file itself secure_delete
// has overwritten it. It returns [event.ErrLocked] if a reader blocks it for a moment: call it
// again later. It does nothing on PostgreSQL, whose vacuum removes deleted data.
func (db *DB) Scrub(ctx context.Context) error {
	const op = "scrub"
	if db.shared {
		return nil
	}
	return pg.AtWork(fault(op, db.one.do(ctx, func() error { return scrub(context.WithoutCancel(ctx), op, db.one.conn) })))
}

func scrub(ctx context.Context, op string, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 100`); err != nil { // all other calls wait
		return err
	}
	var busy, logged, moved int
	err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved)
	if _, again := conn.ExecContext(ctx, `PRAGMA busy_timeout = 5000`); again != nil && err == nil {
		err = again
	}
	if err == nil && busy != 0 {
		err = &event.Error{Op: op, Kind: event.ErrLocked, Message: "a reader blocks it", Hint: "try again later"}
	}
	return err
}
