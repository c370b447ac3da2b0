package postgres

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Remove implements [journal.Remover].
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
	return s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		var key int64
		var turns, over int
		var there bool
		err := x.begin(beginWrite, do(lockConversation, conversation),
			ask(`SELECT key, turns, ended FROM conversation WHERE id = $1`, []any{conversation}, &there, &key, &turns, &over))
		switch {
		case err != nil:
			return err
		case !there:
			return notFound(op, "there is no such conversation")
		case turns > over:
			return &event.Error{
				Op: op, Kind: event.ErrLocked, Message: "a run of the conversation has not ended",
				Hint: "cancel it, or wait for it, and try again",
			}
		}
		return x.commit(
			// What was used is money: it stays, and with it how the runs ended.
			do(`UPDATE usage_logs u SET run_status = (SELECT r.status FROM run r WHERE r.id = u.run)
				WHERE u.tenant = $1 AND u.conversation = $2 AND u.run_status IS NULL`, tenant, conversation),
			do(`DELETE FROM message_logs WHERE conversation = $1`, key),
			do(`DELETE FROM tool_execution_logs WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = $1))`, key),
			do(`DELETE FROM mail WHERE run = ANY (ARRAY(SELECT key FROM run WHERE conversation = $1))`, key),
			do(`DELETE FROM compaction WHERE conversation = $1`, key),
			do(`DELETE FROM log WHERE conversation = $1`, key),
			do(`DELETE FROM run WHERE conversation = $1`, key),
			do(`DELETE FROM conversation WHERE key = $1`, key),
			do(`DELETE FROM state WHERE tenant = $1 AND owner = $2`, tenant, conversationOwner(conversation)),
		)
	})
}
