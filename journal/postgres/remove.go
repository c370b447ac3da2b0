package postgres

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Remove implements [journal.Catalog].
func (s *Store) Remove(ctx context.Context, tenant, conversation string) error {
	const op = "journal remove"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if conversation == "" {
		return noID(op, "a conversation needs an id")
	}
	if err := names(op, tenant, conversation); err != nil {
		return err
	}
	err := s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		writes, err := x.remove(op, tenant, conversation, do(lockConversation, conversation))
		if err != nil {
			return err
		}
		return x.commit(writes...)
	})
	if err == nil {
		blobs{s}.clean(ctx, op, tenant)
	}
	return err
}

const (
	// A concurrent admission of the conversation's first run waits for this row, or the other
	// way round.
	insertGrave      = `INSERT INTO conversation (id, tenant, newest) VALUES ($1, $2, 0) ON CONFLICT (id) DO NOTHING`
	insertTombstone  = `INSERT INTO buried (tenant, conversation, life, at) VALUES ($1, $2, $3, store_clock()) ON CONFLICT DO NOTHING`
	forgetTombstones = `DELETE FROM buried WHERE tenant = $1 AND at < (SELECT store_clock()) - $2`
)

// Tombstone implements [journal.Catalog].
func (s *Store) Tombstone(ctx context.Context, tenant, conversation, incarnation string) error {
	const op = "journal tombstone"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if conversation == "" || incarnation == "" {
		return noID(op, "a conversation and its incarnation need an id")
	}
	if err := names(op, tenant, conversation, incarnation); err != nil {
		return err
	}
	err := s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		var over bool
		writes, err := x.remove(op, tenant, conversation, do(insertGrave, conversation, tenant), do(lockConversation, conversation),
			ask(selectTombstone, []any{tenant, conversation, incarnation}, &over))
		switch {
		case over: // another incarnation may have the id by now; nothing is committed
			return nil
		case err != nil:
			return err
		}
		return x.commit(append(writes,
			do(forgetTombstones, tenant, journal.TombstoneTime.Microseconds()), do(insertTombstone, tenant, conversation, incarnation))...)
	})
	if err == nil {
		blobs{s}.clean(ctx, op, tenant)
	}
	return err
}

// remove locks the conversation, and returns the statements that remove it if it has no open run.
func (x *tx) remove(op, tenant, conversation string, locks ...question) ([]question, error) {
	var key int64
	var turns, over int
	var there bool
	err := x.begin(beginWrite, append(locks, do(lockBlobs, tenant),
		ask(`SELECT key, turns, ended FROM conversation WHERE id = $1`, []any{conversation}, &there, &key, &turns, &over))...)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, notFound(op, "there is no such conversation")
	case turns > over:
		return nil, &event.Error{
			Op: op, Kind: event.ErrLocked, Message: "a run of the conversation has not ended",
			Hint: "cancel it, or wait for it, and try again",
		}
	}
	return []question{
		// Usage rows are money: they stay, with the final status of their runs.
		do(`UPDATE usage_logs u SET run_status = (SELECT r.status FROM run r WHERE r.id = u.run)
			WHERE u.tenant = $1 AND u.conversation = $2 AND u.run_status IS NULL`, tenant, conversation),
		do(`DELETE FROM message_logs WHERE conversation = $1`, key),
		do(`DELETE FROM tool_execution_logs WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = $1))`, key),
		do(`DELETE FROM mail WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = $1))`, key),
		do(`DELETE FROM compaction WHERE conversation = $1`, key),
		do(`DELETE FROM log WHERE conversation = $1`, key),
		do(`DELETE FROM run WHERE conversation = $1`, key),
		do(`DELETE FROM conversation WHERE key = $1`, key),
		do(deleteRefsOf, tenant, conversation),
		do(`DELETE FROM state WHERE tenant = $1 AND owner = $2`, tenant, conversationOwner(conversation)),
	}, nil
}
