package sqlite

import (
	"context"

	"github.com/braidrun/braid/event"
)

const (
	// scrubWait is how long a scrub waits for readers, in milliseconds, and other calls wait for
	// the scrub. busyWait is how long any other call waits.
	scrubWait = `PRAGMA busy_timeout = 100`
	busyWait  = `PRAGMA busy_timeout = 5000`
)

// scrub truncates the write-ahead log. No transaction may be open.
func (w *writer) scrub(ctx context.Context) error {
	if _, err := w.conn.ExecContext(ctx, scrubWait); err != nil {
		return err
	}
	var busy, logged, moved int
	err := w.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved)
	if _, again := w.conn.ExecContext(ctx, busyWait); again != nil && err == nil {
		err = again
	}
	if err == nil && busy != 0 {
		err = &event.Error{Op: "journal scrub", Kind: event.ErrLocked, Message: "a reader blocks it", Hint: "try again later"}
	}
	return err
}
