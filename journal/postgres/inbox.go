package postgres

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	selectReceiver = `SELECT r.key, r.status, r.tenant, store_clock() FROM run r WHERE r.id = $1`

	selectMail = `SELECT m.digest FROM mail m JOIN run r ON r.key = m.run WHERE r.id = $1 AND m.id = $2`

	insertMail = `INSERT INTO mail (run, tenant, id, kind, token, value, sender, message, posted, digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	// A waiting run becomes due at once; other runs keep their state.
	wakeUp = `UPDATE run SET due = CASE WHEN status = 'waiting' THEN 0 ELSE due END, cancelled = cancelled OR $2 WHERE key = $1`
)

// Post implements [journal.Store].
func (s *Store) Post(ctx context.Context, m journal.Mail) error {
	const op = "journal post"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if m.ID == "" || m.Run == "" || m.Kind == "" {
		return noID(op, "mail needs an id, a run and a kind")
	}
	if err := names(op, m.ID, m.Run, string(m.Kind), m.Token, m.By); err != nil {
		return err
	}
	var message []byte
	if len(m.Message) > 0 {
		var err error
		if message, err = event.AppendBlocks(nil, m.Message); err != nil {
			return fault(op, err)
		}
	}
	digest := journal.Digest(m)
	return s.transact(ctx, op, ofRun(m.Run), func(x *tx) error {
		var run, now int64
		var status event.RunStatus
		var tenant string
		var there, repeat bool
		var before []byte
		err := x.begin(beginWrite, do(lockRun, m.Run),
			ask(selectReceiver, []any{m.Run}, &there, &run, &status, &tenant, &now),
			ask(selectMail, []any{m.Run, m.ID}, &repeat, &before))
		switch {
		case err != nil:
			return err
		case !there:
			return notFound(op, "there is no such run")
		case repeat && bytes.Equal(before, digest[:]):
			return nil
		case repeat:
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Message: "mail with this id was left before, and said something else",
				Hint: "use a new id for new mail; a question is answered once",
			}
		case status.Ended():
			return ended(op)
		}
		writes := []question{do(insertMail, run, tenant, m.ID, string(m.Kind), m.Token, []byte(m.Value), m.By, message, now, digest[:])}
		if m.Kind != journal.MailMessage && (status == event.RunWaiting || m.Kind == journal.MailCancel) {
			writes = append(writes, do(wakeUp, run, m.Kind == journal.MailCancel))
		}
		return x.commit(writes...)
	})
}

const (
	selectLeft = `SELECT key, id FROM mail WHERE run = $1 AND read = 0 AND kind = 'message' ORDER BY early DESC, key`

	selectTurn = `SELECT key FROM run WHERE conversation = $1 AND turn = $2`

	insertNext = `INSERT INTO run (key, id, conversation, tenant, turn, person, agent, idem, executor, metadata, new_session,
		status, admitted, due) SELECT nextval('run_key'), $1, conversation, tenant, turn + 1, person, agent, '', executor,
		metadata, false, 'queued', $2, 0 FROM run WHERE key = $3 ON CONFLICT DO NOTHING RETURNING key`

	addTurn = `UPDATE conversation SET turns = turns + 1, newest = $2 WHERE key = $1`

	// Keys rise, so mail inherited later follows mail inherited before.
	inheritMail = `INSERT INTO mail (run, tenant, id, kind, token, value, sender, message, posted, digest, early)
		SELECT $1, tenant, $2, kind, token, value, sender, message, posted, digest, true FROM mail WHERE key = $3
		ON CONFLICT DO NOTHING RETURNING key`

	markLeft = `UPDATE mail SET read = 2, value = NULL, message = NULL WHERE key = ANY ($1)`
)

// leftLetter is an unread message of an ended run.
type leftLetter struct {
	key int64
	id  string
}

// passOn moves the unread messages of a run that has just ended to the next run. It returns the
// statements that remain to be executed.
func (f *fence) passOn(x *tx) ([]question, error) {
	var letters []leftLetter
	var heir int64
	var there bool
	err := x.more(
		list(selectLeft, []any{f.runKey}, func(rows pgx.Rows) error {
			var l leftLetter
			err := rows.Scan(&l.key, &l.id)
			letters = append(letters, l)
			return err
		}),
		ask(selectTurn, []any{f.key, f.turn + 1}, &there, &heir))
	if err != nil || len(letters) == 0 {
		return nil, err
	}
	var rest []question
	for id := f.run + "+"; !there; id += "+" {
		if err := x.more(ask(insertNext, []any{id, f.now, f.runKey}, &there, &heir)); err != nil {
			return nil, err
		}
		if there {
			rest = append(rest, do(addTurn, f.key, heir))
		}
	}
	keys := make([]int64, len(letters))
	for i, l := range letters {
		keys[i] = l.key
		for done := false; !done; l.id += "@" + f.run {
			var key int64
			if err := x.more(ask(inheritMail, []any{heir, l.id, l.key}, &done, &key)); err != nil {
				return nil, err
			}
		}
	}
	return append(rest, do(markLeft, keys)), nil
}
