package sqlite

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

// Read implements [journal.Store].
func (s *Store) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	return s.reader.log(ctx, conversation, after, limit)
}

// ReadPage implements [journal.Store].
func (s *Store) ReadPage(
	ctx context.Context, conversation string, after int64, limit int, most int64,
) (events []*event.Event, more bool, err error) {
	return s.reader.page(ctx, conversation, after, limit, most)
}

// log reads at most limit events after seq.
func (r *reader) log(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	events, _, err := r.page(ctx, conversation, after, limit, 0)
	return events, err
}

// page reads at most limit events after seq, and stops after the row that reaches the bytes.
func (r *reader) page(
	ctx context.Context, conversation string, after int64, limit int, most int64,
) (events []*event.Event, more bool, err error) {
	const op = "journal read"
	if err := alive(ctx, op); err != nil {
		return nil, false, err
	}
	if conversation == "" {
		return nil, false, noID(op, "a conversation needs an id")
	}
	err = r.do(op, func() (err error) {
		events, more, err = r.readPage(ctx, op, conversation, max(after, 0), limit, most)
		return err
	})
	return events, more, err
}

const selectLog = `SELECT l.first, l.last, l.events, c.last FROM log l JOIN conversation c ON c.key = l.conversation
	WHERE c.id = ? AND l.last > ? ORDER BY l.last`

// read reads at most limit events after seq, which is not negative. Call it in do.
func (r *reader) read(ctx context.Context, op, conversation string, after int64, limit int) ([]*event.Event, error) {
	events, _, err := r.readPage(ctx, op, conversation, after, limit, 0)
	return events, err
}

// readPage is read with a bound of bytes. It reports whether more events follow.
func (r *reader) readPage(
	ctx context.Context, op, conversation string, after int64, limit int, most int64,
) (events []*event.Event, more bool, err error) {
	rows, err := r.query(ctx, selectLog, conversation, after)
	if err != nil {
		return nil, false, fault(op, err)
	}
	defer rows.Close()
	u := logrow.Reader{Conversation: conversation, After: after, Max: limit}
	var bytes, end int64
	for !u.Full() && (most <= 0 || bytes < most) && rows.Next() {
		var first, last int64
		var packed sql.RawBytes
		if err := rows.Scan(&first, &last, &packed, &end); err != nil {
			return nil, false, fault(op, err)
		}
		if u.Next == 0 && first > after+1 {
			return nil, false, damaged(op, "a conversation's log has a gap", nil)
		}
		if err := u.Row(first, last, packed); err != nil {
			return nil, false, damaged(op, "a conversation's log cannot be read", err)
		}
		bytes += int64(len(packed))
	}
	if n := len(u.Events); n > 0 {
		more = u.Events[n-1].Seq < end
	}
	return u.Events, more, fault(op, rows.Err())
}

// Due implements [journal.Store].
func (s *Store) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	const op = "journal due"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1
	}
	_, steady, wall := s.clock.read()
	var found []runRow
	err := s.look(ctx, op, func(ask asker) (err error) {
		found, err = runRows(ask(selectDue, wall, s.generation, steady, limit))
		return err
	})
	if err != nil {
		return nil, err
	}
	return readRuns(op, found)
}

// asker executes a query.
type asker func(text string, args ...any) (*sql.Rows, error)

// look reads a state that includes all calls that have returned. It may call do more than once.
func (s *Store) look(ctx context.Context, op string, do func(asker) error) error {
	if s.writer.open.Load() {
		// Readers do not see some leases yet.
		return s.write(ctx, op, true, func(x *tx) error { return do(x.query) })
	}
	return s.reader.look(ctx, op, do)
}

// look reads the committed state.
func (r *reader) look(ctx context.Context, op string, do func(asker) error) error {
	return r.do(op, func() error {
		return fault(op, do(func(text string, args ...any) (*sql.Rows, error) { return r.query(ctx, text, args...) }))
	})
}

// runRows reads the rows of a query for runs.
func runRows(rows *sql.Rows, err error) ([]runRow, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []runRow
	for rows.Next() {
		var r runRow
		if err := rows.Scan(r.into()...); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// readRuns decodes rows of runs.
func readRuns(op string, rows []runRow) (runs []journal.Run, err error) {
	runs = make([]journal.Run, len(rows))
	for i := range rows {
		if runs[i], err = rows[i].read(op); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// Keys rise in the order of admission, which no clock can change. The statement finds runs that
// may be due by their index and sorts them; reading in the order of keys would examine every run
// that ever existed.
const selectDue = `SELECT ` + headColumns + ` FROM run r INDEXED BY run_due CROSS JOIN conversation c ON c.key = r.conversation
	WHERE r.due <= ? AND r.turn = c.ended + 1
		AND (r.status <> 'running' OR c.until IS NULL OR c.generation <> ? OR c.until <= ?)
	ORDER BY +r.key LIMIT ?`
