package sqlite

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	selectReceiver = `SELECT r.key, r.status, c.id FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	insertMail = `INSERT INTO mail (run, id, kind, token, value, sender, message, posted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, id) DO NOTHING`

	// A run that waits is due at once; any other is as it was.
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
	value := slices.Clone(m.Value)
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
		n, err := x.exec(insertMail, run, m.ID, m.Kind, m.Token, blob(value), m.By, text(message), x.now.UnixMicro())
		if err != nil || n == 0 {
			return err // it is there already
		}
		if status.Ended() {
			return ended(op) // and takes the letter back
		}
		if status != event.RunWaiting && m.Kind != journal.MailCancel {
			return nil
		}
		x.w.forget(conversation)
		_, err = x.exec(wakeUp, m.Kind == journal.MailCancel, run)
		return err
	})
}
