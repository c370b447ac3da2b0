package sqlite

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	selectFold  = `SELECT seq, head FROM stored_fold WHERE conversation = ? AND seq >= ?`
	selectParts = `SELECT p.data FROM conversation c JOIN stored_fold_part p ON p.conversation = c.key WHERE c.id = ? ORDER BY p.part`

	countParts = `SELECT parts FROM stored_fold WHERE conversation = ?`
	upsertFold = `INSERT INTO stored_fold (conversation, seq, parts, head) VALUES (?, ?, ?, ?)
		ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, parts = excluded.parts, head = excluded.head`
	deleteParts = `DELETE FROM stored_fold_part WHERE conversation = ? AND part >= ?`
	insertPart  = `INSERT INTO stored_fold_part (conversation, part, data) VALUES (?, ?, ?)`

	// Triggers remove the parts with the fold, and the fold with the conversation.
	eraseFold = `DELETE FROM stored_fold WHERE conversation = ? AND seq >= ?`
)

// StoredTail implements [journal.Store].
func (s *Store) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	return s.reader.storedTail(ctx, conversation)
}

func (r *reader) storedTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	const op = "journal stored tail"
	if err := alive(ctx, op); err != nil {
		return journal.StoredTail{}, err
	}
	if conversation == "" {
		return journal.StoredTail{}, noID(op, "a conversation needs an id")
	}
	t, err := r.foldOf(ctx, op, conversation)
	switch {
	case err != nil:
		return journal.StoredTail{}, err
	case t.Head == nil:
		t.Tail, err = r.tail(ctx, conversation)
		return t, err
	}
	if t.Events, err = r.read(ctx, op, conversation, t.Seq-1, 0); err != nil {
		return journal.StoredTail{}, err
	}
	if n := len(t.Events); n > 0 {
		t.Last = t.Events[n-1].Seq
	}
	return t, nil
}

// foldOf reads the head of a stored fold that is not older than the beginning of the tail.
func (r *reader) foldOf(ctx context.Context, op, conversation string) (t journal.StoredTail, err error) {
	if !r.enter() {
		return t, isClosed(op)
	}
	defer r.leave()
	var key int64
	begins := journal.Tail{First: 1}
	there, err := r.row(ctx, selectTalk, []any{conversation}, &key, new(string), &t.Last)
	if err == nil && there {
		err = r.begin(ctx, key, &begins)
	}
	if err == nil && there {
		_, err = r.row(ctx, selectFold, []any{key, begins.First}, &t.Seq, &t.Head)
	}
	return t, fault(op, err)
}

// StoredParts implements [journal.Store].
func (s *Store) StoredParts(ctx context.Context, conversation string) ([][]byte, error) {
	return s.reader.storedParts(ctx, conversation)
}

func (r *reader) storedParts(ctx context.Context, conversation string) (parts [][]byte, err error) {
	const op = "journal stored parts"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if !r.enter() {
		return nil, isClosed(op)
	}
	defer r.leave()
	rows, err := r.query(ctx, selectParts, conversation)
	if err != nil {
		return nil, fault(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var part []byte
		if err := rows.Scan(&part); err != nil {
			return nil, fault(op, err)
		}
		parts = append(parts, part)
	}
	return parts, fault(op, rows.Err())
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
	// A power cut may lose it.
	return s.write(ctx, op, true, func(x *tx) error { return s.storeFold(x, op, l, &f) })
}

func (s *Store) storeFold(x *tx, op string, l journal.Lease, f *journal.StoredFold) error {
	fence, err := s.fence(x, op, l.Conversation)
	if err != nil {
		return err
	}
	if !fence.current(l) || fence.last != f.Seq {
		return journal.StaleFold(op)
	}
	had := 0
	if _, err := x.row(countParts, []any{fence.key}, &had); err != nil {
		return err
	}
	if had < f.Before {
		return journal.StaleFold(op)
	}
	if _, err := x.exec(upsertFold, fence.key, f.Seq, f.Before+len(f.Parts), f.Head); err != nil {
		return err
	}
	if had > f.Before {
		if _, err := x.exec(deleteParts, fence.key, f.Before); err != nil {
			return err
		}
	}
	for i, part := range f.Parts {
		if _, err := x.exec(insertPart, fence.key, f.Before+i, part); err != nil {
			return err
		}
	}
	return nil
}

// eraseFold removes the stored fold if it holds what a redaction erases.
func (f *fence) eraseFold(x *tx, b *event.Redacted) error {
	if b.Clean {
		return nil
	}
	_, err := x.exec(eraseFold, f.key, b.Target)
	return err
}
