package sqlite

import (
	"bytes"
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	selectReceiver = `SELECT r.key, r.status, c.id FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	insertMail = `INSERT INTO mail (run, id, kind, token, value, sender, message, posted, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, id) DO NOTHING`

	selectMail = `SELECT ` + mailColumns + `, read <> 0, digest FROM mail WHERE run = ? AND id = ?`

	// A waiting run becomes due at once; other runs keep their state.
	wakeUp = `UPDATE run SET due = iif(status = 'waiting', 0, due), cancelled = max(cancelled, ?) WHERE key = ?`
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
	value, digest := slices.Clone(m.Value), journal.Digest(m)
	return s.write(ctx, op, false, func(x *tx) error {
		var run int64
		var conversation string
		var status event.RunStatus
		there, err := x.row(selectReceiver, []any{m.Run}, &run, &status, &conversation)
		if err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		n, err := x.exec(insertMail, run, m.ID, m.Kind, m.Token, bytesOrNull(value), m.By, text(message), x.now.UnixMicro(), digest[:])
		if err != nil {
			return err
		}
		if n == 0 {
			return sameMail(x, op, run, m.ID, digest)
		}
		if status.Ended() {
			return ended(op) // this also rolls the mail back
		}
		if m.Kind == journal.MailMessage || status != event.RunWaiting && m.Kind != journal.MailCancel {
			return nil
		}
		x.w.forget(conversation)
		_, err = x.exec(wakeUp, m.Kind == journal.MailCancel, run)
		return err
	})
}

// sameMail returns the result for mail whose ID the run already knows.
func sameMail(x *tx, op string, run int64, id string, digest [16]byte) error {
	var known mailRow
	var gone bool
	var before []byte
	if _, err := x.row(selectMail, []any{run, id}, append(known.into(), &gone, &before)...); err != nil {
		return err
	}
	if before == nil {
		if gone {
			return nil // the stored mail has no digest to compare
		}
		m, err := known.read(op, "")
		if err != nil {
			return err
		}
		d := journal.Digest(m)
		before = d[:]
	}
	if !bytes.Equal(before, digest[:]) {
		return &event.Error{
			Op: op, Kind: event.ErrConflict, Message: "mail with this id was left before, and said something else",
			Hint: "use a new id for new mail; a question is answered once",
		}
	}
	return nil
}

const (
	selectLeft = `SELECT key, id FROM mail WHERE run = ? AND read = 0 AND kind = 'message' ORDER BY early DESC, key`

	selectTurn = `SELECT key FROM run WHERE conversation = ? AND turn = ?`

	insertNext = `INSERT INTO run (id, conversation, turn, tenant, user, agent, idem, executor, metadata, new_session,
		status, admitted, due) SELECT ?, conversation, turn + 1, tenant, user, agent, '', executor, metadata, 0,
		'queued', ?, 0 FROM run WHERE key = ? ON CONFLICT DO NOTHING`

	addTurn = `UPDATE conversation SET turns = turns + 1, newest = ? WHERE key = ?`

	// Keys rise, so mail inherited later follows mail inherited before.
	inheritMail = `INSERT INTO mail (run, id, kind, token, value, sender, message, posted, digest, early)
		SELECT ?, ?, kind, token, value, sender, message, posted, digest, 1 FROM mail WHERE key = ? ON CONFLICT DO NOTHING`

	markLeft = `UPDATE mail SET read = 2, value = NULL, message = NULL WHERE key = ?`
)

// passOn moves the unread messages of a run that has just ended to the next run.
func (f *fence) passOn(x *tx) error {
	letters, err := f.left(x)
	if err != nil || len(letters) == 0 {
		return err
	}
	var heir int64
	there, err := x.row(selectTurn, []any{f.key, f.turn + 1}, &heir)
	if err == nil && !there {
		heir, err = f.admitNext(x)
	}
	if err != nil {
		return err
	}
	for _, l := range letters {
		for done := false; !done; l.id += "@" + f.run {
			n, err := x.exec(inheritMail, heir, l.id, l.key)
			if err != nil {
				return err
			}
			done = n > 0
		}
		if _, err := x.exec(markLeft, l.key); err != nil {
			return err
		}
	}
	return nil
}

// leftLetter is an unread message of an ended run.
type leftLetter struct {
	key int64
	id  string
}

func (f *fence) left(x *tx) ([]leftLetter, error) {
	rows, err := x.query(selectLeft, f.runKey)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var letters []leftLetter
	for rows.Next() {
		var l leftLetter
		if err := rows.Scan(&l.key, &l.id); err != nil {
			return nil, err
		}
		letters = append(letters, l)
	}
	return letters, rows.Err()
}

// admitNext admits a run for the unread messages of the conversation's last run.
func (f *fence) admitNext(x *tx) (int64, error) {
	for id := f.run + "+"; ; id += "+" {
		key, err := x.insert(insertNext, id, x.now.UnixMicro(), f.runKey)
		if err != nil {
			return 0, err
		}
		if key != 0 {
			_, err = x.exec(addTurn, key, f.key)
			return key, err
		}
	}
}
