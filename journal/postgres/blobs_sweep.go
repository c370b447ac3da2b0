package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/blob"
)

const (
	// piecesAtOnce and refsAtOnce are how many go in one transaction.
	piecesAtOnce = 64
	refsAtOnce   = 1000
	// tenantsAtOnce is how many tenants a sweep asks for at a time.
	tenantsAtOnce = 100
	// cleanTime bounds how long a call that has done its work goes on to remove what cannot be reached any more.
	cleanTime = 5 * time.Second

	selectLooseTenants = `SELECT tenant FROM tenants_with_loose_blobs($1, $2)`

	// A blob without references cannot be reached. It is garbage once its last piece is long ago. One that is locked is
	// being stored, or removed by another process.
	selectGarbage = `SELECT key FROM blob WHERE tenant = $1 AND refs = 0 AND at <= (SELECT store_clock()) - $2`
	lockGarbage   = selectGarbage + ` LIMIT 1 FOR UPDATE SKIP LOCKED`
	// The blobs of a tenant that is removed are garbage at once.
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
		err := cmp.Or(alive(ctx, op), b.s.look(ctx, op, ofTenant(""), list(selectLooseTenants, []any{uploadTime, tenantsAtOnce}, func(rows pgx.Rows) error {
			var tenant string
			err := rows.Scan(&tenant)
			tenants = append(tenants, tenant)
			return err
		})))
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
		if removed == 0 { // there is nothing, or others are at it
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

// clean removes a tenant's garbage. What stays after an error is for a later sweep.
func (b blobs) clean(ctx context.Context, op, tenant string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	var some bool
	err := b.s.look(ctx, op, ofTenant(tenant), ask(selectGarbage+` LIMIT 1`, []any{tenant, uploadTime}, &some))
	if err == nil && some {
		_, _ = b.collect(ctx, op, tenant, lockGarbage, tenant, uploadTime)
	}
}

// collect removes the blobs that the statement finds, some pieces with each transaction, and counts these.
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
			// An upload that goes on must not find some of its pieces gone.
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
