package database

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
)

// Scrub removes from the file's write-ahead log what deletions before it have taken out; in the file itself it is
// overwritten (secure_delete). If a reader is in the way, it gives up after a moment with [event.ErrLocked], and is
// called again later. It does nothing on PostgreSQL, whose own vacuum removes what was deleted.
func (db *DB) Scrub(ctx context.Context) error {
	const op = "scrub"
	if db.shared {
		return nil
	}
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return fault(op, err)
	}
	defer conn.Close()
	return pg.AtWork(fault(op, scrub(context.WithoutCancel(ctx), op, conn)))
}

func scrub(ctx context.Context, op string, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 100`); err != nil { // everything else waits
		return err
	}
	var busy, logged, moved int
	err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved)
	if _, again := conn.ExecContext(ctx, `PRAGMA busy_timeout = 5000`); again != nil && err == nil {
		err = again
	}
	if err == nil && busy != 0 {
		err = &event.Error{Op: op, Kind: event.ErrLocked, Message: "a reader is in the way", Hint: "try again later"}
	}
	return err
}
