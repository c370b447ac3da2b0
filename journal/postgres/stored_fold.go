package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/journal"
)

const (
	// A stored fold that ends after the session has begun, and after all that compactions cover. It ends with a run, so it
	// is not before the beginning of the tail then.
	selectFold = `SELECT c.last, f.seq, f.head FROM conversation c JOIN stored_fold f ON f.conversation = c.key
		LEFT JOIN LATERAL (SELECT first FROM run r WHERE r.conversation = c.key AND r.first IS NOT NULL AND r.session = (
			SELECT session FROM run WHERE conversation = c.key AND first IS NOT NULL ORDER BY turn DESC LIMIT 1
		) ORDER BY turn LIMIT 1) s ON true
		WHERE c.id = $1 AND f.seq >= coalesce(s.first, 1)
			AND NOT EXISTS (SELECT 1 FROM compaction k WHERE k.conversation = c.key AND k.first <= s.first + 1 AND k.last >= f.seq)`

	selectParts = `SELECT p.data FROM conversation c JOIN stored_fold_part p ON p.conversation = c.key WHERE c.id = $1 ORDER BY p.part`

	countParts = `SELECT parts FROM stored_fold WHERE conversation = $1`
	upsertFold = `INSERT INTO stored_fold (conversation, tenant, seq, parts, head) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, parts = excluded.parts, head = excluded.head`
	deleteParts = `DELETE FROM stored_fold_part WHERE conversation = $1 AND part >= $2`
	insertPart  = `INSERT INTO stored_fold_part (conversation, tenant, part, data) VALUES ($1, $2, $3, $4)`

	// The parts go with the fold, and the fold with the conversation.
	eraseFold = `DELETE FROM stored_fold WHERE conversation = $1 AND seq >= $2`
)

// StoredTail implements [journal.Store].
func (s *Store) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	const op = "journal stored tail"
	if err := alive(ctx, op); err != nil {
		return journal.StoredTail{}, err
	}
	if conversation == "" {
		return journal.StoredTail{}, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return journal.StoredTail{}, err
	}
	var t journal.StoredTail
	var rows []logRow
	err := s.transact(ctx, op, ofConversation(conversation), func(x *tx) (err error) {
		t, rows, err = x.storedTail(conversation)
		return err
	})
	if err != nil {
		return journal.StoredTail{}, err
	}
	from := t.First
	if t.Head != nil {
		from = t.Seq
	}
	if t.Events, err = readLog(op, conversation, from-1, 0, rows); err != nil {
		return journal.StoredTail{}, err
	}
	return t, nil
}

// storedTail reads a tail from one state of the database.
func (x *tx) storedTail(conversation string) (t journal.StoredTail, rows []logRow, err error) {
	var key int64
	var tenant string
	var there, stored bool
	if err := x.begin(beginRead, ask(selectFold, []any{conversation}, &stored, &t.Last, &t.Seq, &t.Head)); err != nil {
		return t, nil, err
	}
	if stored {
		err = x.more(list(selectLog, []any{conversation, t.Seq - 1}, logInto(&rows)), do(`COMMIT`))
		return t, rows, err
	}
	t.Tail = journal.Tail{First: 1, Session: 1}
	if err := x.more(ask(selectTalk, []any{conversation}, &there, &key, &tenant, &t.Last)); err != nil || !there {
		return t, nil, err
	}
	if err := x.tailBegins(key, &t.Tail); err != nil {
		return t, nil, err
	}
	rest := []question{list(selectLog, []any{conversation, t.First - 1}, logInto(&rows)), do(`COMMIT`)}
	if t.First > 1 {
		own := list(selectOwnState, []any{tenant, conversationOwner(conversation)}, stateInto(&t.State))
		rest = append([]question{own}, rest...)
	}
	return t, rows, x.more(rest...)
}

// StoredParts implements [journal.Store].
func (s *Store) StoredParts(ctx context.Context, conversation string) (parts [][]byte, err error) {
	const op = "journal stored parts"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return nil, err
	}
	err = s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		parts = nil
		return x.begin(beginRead, list(selectParts, []any{conversation}, func(rows pgx.Rows) error {
			var part []byte
			err := rows.Scan(&part)
			parts = append(parts, part)
			return err
		}), do(`COMMIT`))
	})
	return parts, err
}

// StoreFold implements [journal.Store].
func (s *Store) StoreFold(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
	const op = "journal store fold"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if err := journal.CheckStoredFold(op, l, &f); err != nil {
		return err
	}
	if err := names(op, l.Run, l.Conversation); err != nil {
		return err
	}
	return s.transact(ctx, op, ofConversation(l.Conversation), func(x *tx) error {
		fence, err := x.fence(op, l.Conversation)
		if err != nil {
			return err
		}
		if !fence.current(l) || fence.last != f.Seq {
			return journal.StaleFold(op)
		}
		var there bool
		had := 0
		if err := x.more(ask(countParts, []any{fence.key}, &there, &had)); err != nil {
			return err
		}
		if had < f.Before {
			return journal.StaleFold(op)
		}
		writes := []question{
			do(upsertFold, fence.key, fence.tenant, f.Seq, f.Before+len(f.Parts), f.Head),
			do(deleteParts, fence.key, f.Before),
		}
		for i, part := range f.Parts {
			writes = append(writes, do(insertPart, fence.key, fence.tenant, f.Before+i, part))
		}
		// A crash of the database may lose it.
		return x.commitLazily(writes...)
	})
}
