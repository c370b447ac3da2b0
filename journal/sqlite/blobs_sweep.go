package sqlite

import (
	"context"
	"time"

	"github.com/braidrun/braid/blob"
)

const (
	// piecesAtOnce is the number of pieces per transaction, so that others can write in between.
	piecesAtOnce = 16
	// refsAtOnce is the number of references per transaction.
	refsAtOnce = 1000
	// cleanTime bounds how long a finished call spends on removing unreachable blobs.
	cleanTime = 5 * time.Second

	// A blob without references is unreachable. It is garbage once its last piece is old enough.
	selectGarbage   = `SELECT key FROM blob WHERE refs = 0 AND at <= ? LIMIT 1`
	selectGarbageOf = `SELECT key FROM blob INDEXED BY blob_loose_tenant WHERE refs = 0 AND at <= ? AND tenant = ? LIMIT 1`
	// The blobs of a removed tenant are garbage at once.
	selectLooseOf = `SELECT key FROM blob INDEXED BY blob_loose_tenant WHERE tenant = ? AND refs = 0 LIMIT 1`

	deleteSomeRefs = `DELETE FROM blob_ref WHERE (tenant, conversation, kind, name) IN
		(SELECT tenant, conversation, kind, name FROM blob_ref WHERE tenant = ? LIMIT ?)`
	deletePieces = `DELETE FROM blob_piece WHERE rowid IN (SELECT rowid FROM blob_piece WHERE blob = ? LIMIT ?)`
	deleteBlob   = `DELETE FROM blob WHERE key = ?`

	// dropUploads runs when a process opens the file: earlier uploads have ended with their
	// process.
	dropUploads = `UPDATE blob SET at = 0 WHERE refs = 0`
)

// Sweep implements [blob.Store].
func (b blobs) Sweep(ctx context.Context) error {
	return b.collect(ctx, "blob sweep", selectGarbage, b.stale())
}

// stale returns the time before which an upload must have stored its last piece to be garbage.
func (b blobs) stale() int64 {
	now, _, _ := b.s.clock.read()
	return now.Add(-blob.UploadTime).UnixMicro()
}

// drop makes an unfinished blob garbage and removes it.
func (b blobs) drop(ctx context.Context, op, tenant string, key int64) {
	if key == 0 {
		return
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	err := b.s.write(later, op, true, func(x *tx) error {
		_, err := x.exec(dropBlob, key)
		return err
	})
	if err == nil {
		b.clean(ctx, op, tenant)
	}
}

// clean removes a tenant's garbage. After an error, a later sweep removes the rest.
func (b blobs) clean(ctx context.Context, op, tenant string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	_ = b.collect(ctx, op, selectGarbageOf, b.stale(), tenant)
}

// collect removes the blobs that the statement finds, some pieces per transaction.
func (b blobs) collect(ctx context.Context, op, find string, args ...any) error {
	// Most calls find nothing, and reading takes no transaction.
	more, err := b.finds(ctx, op, find, args)
	for more && err == nil {
		err = b.s.write(ctx, op, true, func(x *tx) (err error) {
			more, err = x.collect(find, args)
			return err
		})
	}
	return err
}

func (b blobs) finds(ctx context.Context, op, find string, args []any) (some bool, err error) {
	if err := alive(ctx, op); err != nil {
		return false, err
	}
	err = b.s.look(ctx, op, func(ask asker) error {
		rows, err := ask(find, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		some = rows.Next()
		return rows.Err()
	})
	return some, err
}

// collect removes some pieces of one blob, or the blob after its last piece. more is false if there is no such blob.
func (x *tx) collect(find string, args []any) (more bool, err error) {
	var key int64
	if more, err = x.row(find, args, &key); err != nil || !more {
		return false, err
	}
	// A running upload must not lose some of its pieces.
	if _, err := x.exec(dropBlob, key); err != nil {
		return false, err
	}
	n, err := x.exec(deletePieces, key, piecesAtOnce)
	if err == nil && n < piecesAtOnce {
		_, err = x.exec(deleteBlob, key)
	}
	return true, err
}
