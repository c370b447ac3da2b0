package sqlite

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
	return s.write(ctx, op, false, func(x *tx) error {
		there, err := x.remove(op, tenant, conversation)
		if err == nil && !there {
			err = notFound(op, "there is no such conversation")
		}
		return err
	})
}

const (
	insertTombstone  = `INSERT INTO buried (tenant, conversation, life, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	forgetTombstones = `DELETE FROM buried WHERE tenant = ? AND at < ?`
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
	err := s.write(ctx, op, false, func(x *tx) error {
		// If the tombstone exists, another incarnation may have the id by now.
		if over, err := x.row(selectTombstone, []any{tenant, conversation, incarnation}, new(int)); err != nil || over {
			return err
		}
		there, err := x.remove(op, tenant, conversation)
		if err != nil {
			return err
		}
		if !there {
			if there, err = x.row(`SELECT key FROM conversation WHERE id = ?`, []any{conversation}, new(int64)); err != nil {
				return err
			}
			if there { // it belongs to another tenant
				return notFound(op, "there is no such conversation")
			}
			if _, err := x.exec(deleteRefsOf, tenant, conversation); err != nil {
				return err
			}
		}
		now := x.now
		if _, err := x.exec(forgetTombstones, tenant, now.Add(-journal.TombstoneTime).UnixMicro()); err != nil {
			return err
		}
		_, err = x.exec(insertTombstone, tenant, conversation, incarnation, now.UnixMicro())
		return err
	})
	if err == nil {
		s.blobs().clean(ctx, op, tenant)
	}
	return err
}

// remove removes the tenant's conversation if it exists and has no open run.
func (x *tx) remove(op, tenant, conversation string) (there bool, err error) {
	var key int64
	var turns, over int
	there, err = x.row(`SELECT key, turns, ended FROM conversation WHERE id = ? AND tenant = ?`,
		[]any{conversation, tenant}, &key, &turns, &over)
	switch {
	case err != nil || !there:
		return false, err
	case turns > over:
		return true, &event.Error{
			Op: op, Kind: event.ErrLocked, Message: "a run of the conversation has not ended",
			Hint: "cancel it, or wait for it, and try again",
		}
	}
	x.w.forget(conversation)
	for _, remove := range []string{
		// Usage rows are money: they stay, with the final status of their runs.
		`UPDATE usage_logs SET run_status = (SELECT r.status FROM run r WHERE r.id = usage_logs.run)
			FROM (SELECT id, tenant FROM conversation WHERE key = ?) c
			WHERE usage_logs.tenant = c.tenant AND usage_logs.conversation = c.id AND run_status IS NULL`,
		`DELETE FROM message_logs WHERE conversation = ?`,
		`DELETE FROM tool_execution_logs WHERE run IN (SELECT key FROM run WHERE conversation = ?)`,
		`DELETE FROM mail WHERE run IN (SELECT key FROM run WHERE conversation = ?)`,
		`DELETE FROM compaction WHERE conversation = ?`,
		`DELETE FROM log WHERE conversation = ?`,
		`UPDATE conversation SET holder = NULL WHERE key = ?`,
		`DELETE FROM run WHERE conversation = ?`,
		`DELETE FROM conversation WHERE key = ?`,
	} {
		if _, err := x.exec(remove, key); err != nil {
			return true, err
		}
	}
	if _, err = x.exec(deleteRefsOf, tenant, conversation); err != nil {
		return true, err
	}
	_, err = x.exec(`DELETE FROM state WHERE tenant = ? AND owner = ?`, tenant, conversationOwner(conversation))
	return true, err
}
