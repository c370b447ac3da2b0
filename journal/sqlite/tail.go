package sqlite

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/journal"
)

const (
	selectTalk = `SELECT key, tenant, last FROM conversation WHERE id = ?`

	// The session that continues, and its beginning.
	selectSession = `SELECT session, first FROM run WHERE conversation = ?1 AND first IS NOT NULL AND session = (
			SELECT session FROM run WHERE conversation = ?1 AND first IS NOT NULL ORDER BY turn DESC LIMIT 1
		) ORDER BY turn LIMIT 1`

	// The end of a summary that replaces the session's beginning. A summary need not include the
	// very first event, which says only that a run begins.
	selectCovered = `SELECT max(last) FROM compaction WHERE conversation = ? AND first <= ? + 1`

	// The run at a position in the log.
	selectRunAt = `SELECT first FROM run WHERE conversation = ? AND first <= ? ORDER BY turn DESC LIMIT 1`

	selectOwnState = `SELECT name, value FROM state WHERE tenant = ? AND owner = ?`
)

// selectEntered finds the run that has read a message. An index holds the messages that were
// read.
const selectEntered = `SELECT r.id FROM mail m JOIN run r ON r.key = m.run JOIN conversation c ON c.key = r.conversation
	WHERE m.id = ? AND m.kind = 'message' AND m.read = 1 AND c.id = ?`

// Entered implements [journal.Store].
func (s *Store) Entered(ctx context.Context, conversation, id string) (run string, err error) {
	return s.reader.entered(ctx, conversation, id)
}

func (r *reader) entered(ctx context.Context, conversation, id string) (run string, err error) {
	const op = "journal entered"
	if err := alive(ctx, op); err != nil {
		return "", err
	}
	err = r.do(op, func() error {
		_, err := r.row(ctx, selectEntered, []any{id, conversation}, &run)
		return fault(op, err)
	})
	return run, err
}

// Tail implements [journal.Store].
func (s *Store) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	return s.reader.tail(ctx, conversation)
}

func (r *reader) tail(ctx context.Context, conversation string) (t journal.Tail, err error) {
	const op = "journal tail"
	if err := alive(ctx, op); err != nil {
		return journal.Tail{}, err
	}
	if conversation == "" {
		return journal.Tail{}, noID(op, "a conversation needs an id")
	}
	err = r.do(op, func() (err error) {
		t, err = r.readTail(ctx, op, conversation)
		return err
	})
	return t, err
}

// readTail is tail for do.
func (r *reader) readTail(ctx context.Context, op, conversation string) (journal.Tail, error) {
	t := journal.Tail{First: 1, Session: 1}
	var key int64
	var tenant string
	there, err := r.row(ctx, selectTalk, []any{conversation}, &key, &tenant, &t.Last)
	if err != nil || !there {
		return t, fault(op, err)
	}
	if err := r.begin(ctx, key, &t); err != nil {
		return journal.Tail{}, fault(op, err)
	}
	if t.First > 1 {
		// The state is read before the events, which contain what it lacks.
		t.State, err = readState(r.query(ctx, selectOwnState, tenant, conversationOwner(conversation)))
		if err != nil {
			return journal.Tail{}, fault(op, err)
		}
	}
	if t.Events, err = r.read(ctx, op, conversation, t.First-1, 0); err != nil {
		return journal.Tail{}, err
	}
	if n := len(t.Events); n > 0 {
		t.Last = t.Events[n-1].Seq
	}
	return t, nil
}

// begin finds where the tail may begin.
func (r *reader) begin(ctx context.Context, key int64, t *journal.Tail) error {
	there, err := r.row(ctx, selectSession, []any{key}, &t.Session, &t.First)
	if err != nil || !there {
		return err
	}
	t.Begin = t.First
	var covered sql.NullInt64
	if _, err := r.row(ctx, selectCovered, []any{key, t.First}, &covered); err != nil {
		return err
	}
	if !covered.Valid {
		return nil
	}
	var first int64
	if there, err = r.row(ctx, selectRunAt, []any{key, covered.Int64 + 1}, &first); there {
		t.First = max(t.First, first)
	}
	return err
}
