package sqlite

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

const (
	selectRow = `SELECT key, first, events FROM log WHERE conversation = ? AND last >= ? AND first <= ? ORDER BY last LIMIT 1`

	rewriteRow = `UPDATE log SET events = ? WHERE key = ?`

	selectInput = `SELECT key, input FROM run WHERE id = ? AND conversation = ? AND input IS NOT NULL`

	eraseInput = `UPDATE run SET input = ? WHERE key = ?`
)

// erase carries out a redaction as [journal.Store].Commit says. secure_delete overwrites the old
// content in the file.
func (f *fence) erase(x *tx, b *event.Redacted) error {
	if err := f.eraseFold(x, b); err != nil {
		return err
	}
	var key, first int64
	var packed []byte
	there, err := x.row(selectRow, []any{f.key, b.Target, b.Target}, &key, &first, &packed)
	if err != nil || !there {
		return err
	}
	run, asked := "", ""
	packed, err = logrow.Rewrite(first, b.Target, packed, func(e *event.Event) *event.Event {
		left, input := journal.Erase(b, e)
		asked = e.Run
		if input {
			run = e.Run
		}
		return left
	})
	if err != nil {
		return damaged("journal commit", "a conversation's log cannot be read", err)
	}
	if _, err := x.exec(rewriteRow, packed, key); err != nil {
		return err
	}
	if !b.Clean {
		if err := f.eraseRepeats(x, asked, b); err != nil {
			return err
		}
	}
	if run == "" {
		return nil
	}
	there, err = x.row(selectInput, []any{run, f.key}, &key, &packed)
	if err != nil || !there {
		return err
	}
	_, err = x.exec(eraseInput, logrow.Erased(packed), key)
	return err
}
