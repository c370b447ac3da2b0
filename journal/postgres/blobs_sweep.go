package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/blob"
)

const (
	// piecesAtOnce and refsAtOnce are the numbers of pieces and references per transaction.
	piecesAtOnce = 64
	refsAtOnce   = 1000
	// tenantsAtOnce is the number of tenants that a sweep reads at a time.
	tenantsAtOnce = 100
	// cleanTime bounds how long a finished call spends on removing unreachable blobs.
	cleanTime = 5 * time.Second

	selectLooseTenants = `SELECT tenant FROM tenants_with_loose_blobs($1, $2)`

	// A blob without references is unreachable. It is garbage once its last piece is old enough.
	// A locked one is being stored, or removed by another process.
	selectGarbage = `SELECT key FROM blob WHERE tenant = $1 AND refs = 0 AND at <= (SELECT store_clock()) - $2`
	lockGarbage   = selectGarbage + ` LIMIT 1 FOR UPDATE SKIP LOCKED`
	// The blobs of a removed tenant are garbage at once.
	lockLoose = `SELECT key FROM blob WHERE tenant = $1 AND refs = 0 LIMIT 1 FOR UPDATE`

	deleteSomeRefs = `DELETE FROM blob_ref WHERE (tenant, conversation, kind, name) IN
		(SELECT tenant, conversation, kind, name FROM blob_ref WHERE tenant = $1 LIMIT $2)`
	selectAnyRef = `SELECT 1 FROM blob_ref WHERE tenant = $1 LIMIT 1`
	deletePieces = `DELETE FROM blob_piece WHERE blob = $1 AND first IN (SELECT first FROM blob_piece WHERE blob = $1 LIMIT $2)`
	deleteBlob   = `DELETE FROM blob WHERE key = $1 AND refs = 0 AND NOT EXISTS (SELECT 1 FROM blob_piece WHERE blob = $1)`
)

var uploadTime = blob.UploadTime.Microseconds()

// Sweep implements [blob.Store].
func (b blobs) Sweep(ctx context.Context) error {
	const op = "blob sweep"
	for {
		var tenants []string
		add := func(rows pgx.Rows) error {
			var tenant string
			err := rows.Scan(&tenant)
			tenants = append(tenants, tenant)
			return err
		}
		err := cmp.Or(alive(ctx, op), b.s.look(ctx, op, ofTenant(""), list(selectLooseTenants, []any{uploadTime, tenantsAtOnce}, add)))
		if err != nil {
			return err
		}
		removed := 0
		for _, tenant := range tenants {
			n, err := b.collect(ctx, op, tenant, lockGarbage, tenant, uploadTime)
			if err != nil {
				return err
			}
			removed += n
		}
		if removed == 0 { // nothing is left, or other processes are removing it
			return nil
		}
	}
}

// drop makes an unfinished blob garbage and removes it.
func (b blobs) drop(ctx context.Context, op, tenant string, key int64) {
	if key == 0 {
		return
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	err := b.s.transact(later, op, ofTenant(tenant), func(x *tx) error {
		if err := x.begin(beginWrite); err != nil {
			return err
		}
		return x.commitLazily(do(dropBlob, key))
	})
	if err == nil {
		b.clean(ctx, op, tenant)
	}
}

// clean removes a tenant's garbage. After an error, a later sweep removes the rest.
func (b blobs) clean(ctx context.Context, op, tenant string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	var some bool
	err := b.s.look(ctx, op, ofTenant(tenant), ask(selectGarbage+` LIMIT 1`, []any{tenant, uploadTime}, &some))
	if err == nil && some {
		_, _ = b.collect(ctx, op, tenant, lockGarbage, tenant, uploadTime)
	}
}

// collect removes the blobs that the statement finds, some pieces per transaction, and counts the
// pieces.
func (b blobs) collect(ctx context.Context, op, tenant, find string, args ...any) (parts int, err error) {
	for more := true; more; {
		if err := alive(ctx, op); err != nil {
			return parts, err
		}
		err := b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
			var key int64
			if err := x.begin(beginWrite, ask(find, args, &more, &key)); err != nil || !more {
				return err
			}
			// A running upload must not lose some of its pieces.
			return x.commitLazily(do(dropBlob, key), do(deletePieces, key, piecesAtOnce), do(deleteBlob, key))
		})
		if err != nil {
			return parts, err
		}
		parts++
	}
	return parts - 1, nil
}

// RemoveTenant implements [blob.Store].
func (b blobs) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "blob remove tenant"
	if err := cmp.Or(alive(ctx, op), blob.CheckText(op, tenant)); err != nil {
		return err
	}
	for more := true; more; {
		err := b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
			if err := x.begin(beginWrite, do(lockBlobs, tenant), ask(selectAnyRef, []any{tenant}, &more)); err != nil || !more {
				return err
			}
			return x.commit(do(deleteSomeRefs, tenant, refsAtOnce))
		})
		if err != nil {
			return err
		}
	}
	_, err := b.collect(ctx, op, tenant, lockLoose, tenant)
	return err
}
