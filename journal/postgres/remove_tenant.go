package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
)

// removedAtOnce is the number of conversations per transaction.
const removedAtOnce = 200

// selectRemovable locks conversations without an open run. It names the tenant, because row-level
// security alone would examine all conversations.
const selectRemovable = `SELECT key FROM conversation WHERE tenant = $1 AND turns = ended ORDER BY newest LIMIT $2 FOR UPDATE`

// planForTenant plans each statement for its tenant. A generic plan expects the largest tenant
// and reads whole tables for the smallest.
const planForTenant = `SET LOCAL plan_cache_mode = force_custom_plan`

// RemoveTenant implements [journal.Catalog].
func (s *Store) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "journal remove tenant"
	if err := names(op, tenant); err != nil {
		return err
	}
	for more := true; more; {
		if err := alive(ctx, op); err != nil {
			return err
		}
		err := s.transact(ctx, op, ofTenant(tenant), func(x *tx) (err error) {
			more, err = removeSome(x, op, tenant)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := s.Blobs().RemoveTenant(ctx, tenant); err != nil {
		return err
	}
	return s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		if err := x.begin(beginWrite); err != nil {
			return err
		}
		return x.commit(do(`DELETE FROM storage WHERE tenant = $1`, tenant))
	})
}

// removeSome removes some of the tenant's conversations. more reports whether there may be more.
func removeSome(x *tx, op, tenant string) (more bool, err error) {
	var keys []int64
	if err := x.begin(beginWrite, do(planForTenant), list(selectRemovable, []any{tenant, removedAtOnce}, func(rows pgx.Rows) error {
		var key int64
		err := rows.Scan(&key)
		keys = append(keys, key)
		return err
	})); err != nil {
		return false, err
	}
	if len(keys) > 0 {
		return true, x.commit(
			do(`DELETE FROM message_logs WHERE conversation = ANY ($1)`, keys),
			do(`DELETE FROM tool_execution_logs WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = ANY ($1)))`, keys),
			do(`DELETE FROM mail WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = ANY ($1)))`, keys),
			do(`DELETE FROM compaction WHERE conversation = ANY ($1)`, keys),
			do(`DELETE FROM log WHERE conversation = ANY ($1)`, keys),
			do(`DELETE FROM run WHERE conversation = ANY ($1)`, keys),
			do(`DELETE FROM conversation WHERE key = ANY ($1)`, keys),
		)
	}
	var open bool
	if err := x.more(ask(`SELECT 1 FROM conversation WHERE tenant = $1 LIMIT 1`, []any{tenant}, &open)); err != nil {
		return false, err
	}
	if open {
		return false, &event.Error{
			Op: op, Kind: event.ErrLocked, Message: "a run of the tenant has not ended",
			Hint: "cancel it, or wait for it, and try again",
		}
	}
	return false, x.commit(do(`DELETE FROM usage_logs WHERE tenant = $1`, tenant), do(`DELETE FROM usage_days WHERE tenant = $1`, tenant),
		do(`DELETE FROM usage_people WHERE tenant = $1`, tenant),
		do(`DELETE FROM state WHERE tenant = $1`, tenant),
		do(`DELETE FROM buried WHERE tenant = $1`, tenant))
}
