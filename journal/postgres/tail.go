package postgres

import (
	"context"

	"github.com/braidrun/braid/journal"
)

const (
	selectTalk = `SELECT key, tenant, last FROM conversation WHERE id = $1`

	// The session that continues, and its beginning.
	selectSession = `SELECT session, first FROM run WHERE conversation = $1 AND first IS NOT NULL AND session = (
			SELECT session FROM run WHERE conversation = $1 AND first IS NOT NULL ORDER BY turn DESC LIMIT 1
		) ORDER BY turn LIMIT 1`

	// The end of a summary that replaces the session's beginning. A summary need not include the
	// very first event, which says only that a run begins.
	selectCovered = `SELECT max(last) FROM compaction WHERE conversation = $1 AND first <= $2 + 1`

	// The run at a position in the log.
	selectRunAt = `SELECT first FROM run WHERE conversation = $1 AND first <= $2 ORDER BY turn DESC LIMIT 1`

	selectOwnState = `SELECT name, value FROM state WHERE tenant = $1 AND owner = $2`
)

// selectEntered finds the run that has read a message. An index holds the messages that were
// read.
const selectEntered = `SELECT r.id FROM conversation c JOIN mail m ON m.tenant = c.tenant AND m.id = $1 AND m.kind = 'message' AND m.read = 1
	JOIN run r ON r.key = m.run AND r.conversation = c.key WHERE c.id = $2`

// Entered implements [journal.Store].
func (s *Store) Entered(ctx context.Context, conversation, id string) (run string, err error) {
	const op = "journal entered"
	if err := alive(ctx, op); err != nil {
		return "", err
	}
	if err := names(op, conversation, id); err != nil {
		return "", err
	}
	err = s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		var there bool
		run = ""
		if err := x.begin(beginRead, ask(selectEntered, []any{id, conversation}, &there, &run)); err != nil {
			return err
		}
		return x.more(do(`COMMIT`))
	})
	return run, err
}

// Tail implements [journal.Store].
func (s *Store) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	const op = "journal tail"
	if err := alive(ctx, op); err != nil {
		return journal.Tail{}, err
	}
	if conversation == "" {
		return journal.Tail{}, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return journal.Tail{}, err
	}
	var t journal.Tail
	var rows []logRow
	err := s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		t, rows = journal.Tail{First: 1, Session: 1}, nil
		var key int64
		var tenant string
		var there bool
		if err := x.begin(beginRead, ask(selectTalk, []any{conversation}, &there, &key, &tenant, &t.Last)); err != nil || !there {
			return err
		}
		if err := x.tailBegins(key, &t); err != nil {
			return err
		}
		rest := []question{list(selectLog, []any{conversation, t.First - 1}, logInto(&rows)), do(`COMMIT`)}
		if t.First > 1 {
			own := list(selectOwnState, []any{tenant, conversationOwner(conversation)}, stateInto(&t.State))
			rest = append([]question{own}, rest...)
		}
		return x.more(rest...)
	})
	if err != nil {
		return journal.Tail{}, err
	}
	if t.Events, err = readLog(op, conversation, t.First-1, 0, rows); err != nil {
		return journal.Tail{}, err
	}
	return t, nil
}

// tailBegins finds where the tail may begin.
func (x *tx) tailBegins(key int64, t *journal.Tail) error {
	var there bool
	if err := x.more(ask(selectSession, []any{key}, &there, &t.Session, &t.First)); err != nil || !there {
		return err
	}
	t.Begin = t.First
	var covered *int64
	if err := x.more(ask(selectCovered, []any{key, t.First}, &there, &covered)); err != nil || covered == nil {
		return err
	}
	var first int64
	err := x.more(ask(selectRunAt, []any{key, *covered + 1}, &there, &first))
	if there {
		t.First = max(t.First, first)
	}
	return err
}
