package postgres

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

const (
	selectRow = `SELECT first, last, epoch, events FROM log WHERE conversation = $1 AND last >= $2 AND first <= $2 ORDER BY last LIMIT 1`

	// A store's role may not update rows of a log, so a row is deleted and inserted again.
	removeRow = `DELETE FROM log WHERE conversation = $1 AND last = $2`

	selectInput = `SELECT key, input FROM run WHERE id = $1 AND conversation = $2 AND input IS NOT NULL`

	eraseInput = `UPDATE run SET input = $2 WHERE key = $1`
)

// erase carries out a redaction as [journal.Store].Commit says, and returns the statements. The
// database's next vacuum removes the old row versions.
func (f *fence) erase(x *tx, op string, b *event.Redacted) ([]question, error) {
	var key, first, last, epoch int64
	var packed []byte
	var there bool
	asks := []question{ask(selectRow, []any{f.key, b.Target}, &there, &first, &last, &epoch, &packed)}
	if !b.Clean {
		asks = append(asks, do(eraseFold, f.key, b.Target))
	}
	if err := x.more(asks...); err != nil || !there {
		return nil, err
	}
	run, asked := "", ""
	before := len(packed)
	packed, err := logrow.Rewrite(first, b.Target, packed, func(e *event.Event) *event.Event {
		left, input := journal.Erase(b, e)
		asked = e.Run
		if input {
			run = e.Run
		}
		return left
	})
	if err != nil {
		return nil, damaged(op, "a conversation's log cannot be read", err)
	}
	writes := []question{
		do(removeRow, f.key, last), do(insertLog, f.key, f.tenant, first, last, epoch, packed), do(countBytes, f.key, len(packed)-before),
	}
	if !b.Clean {
		writes = append(writes, f.eraseRepeats(asked, b)...)
	}
	if run == "" {
		return writes, nil
	}
	var input []byte
	if err := x.more(ask(selectInput, []any{run, f.key}, &there, &key, &input)); err != nil || !there {
		return writes, err
	}
	return append(writes, do(eraseInput, key, logrow.Erased(input))), nil
}
