package sqlite

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Read implements [journal.Store].
func (s *Store) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	const op = "journal read"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	return s.read(ctx, op, conversation, max(after, 0), limit)
}

const selectLog = `SELECT l.first, l.last, l.events FROM log l JOIN conversation c ON c.key = l.conversation
	WHERE c.id = ? AND l.last > ? ORDER BY l.last`

// read gives at most limit events after seq, which is at least 0.
func (s *Store) read(ctx context.Context, op, conversation string, after int64, limit int) ([]*event.Event, error) {
	if !s.reader.enter() {
		return nil, isClosed(op)
	}
	defer s.reader.leave()
	rows, err := s.reader.query(ctx, selectLog, conversation, after)
	if err != nil {
		return nil, fault(op, err)
	}
	defer rows.Close()
	u := unpacker{conversation: conversation, after: after, max: limit}
	for !u.full() && rows.Next() {
		var first, last int64
		var packed sql.RawBytes
		if err := rows.Scan(&first, &last, &packed); err != nil {
			return nil, fault(op, err)
		}
		if u.next == 0 && first > after+1 {
			return nil, damaged(op, "a conversation's log has a gap", nil)
		}
		if err := u.row(first, last, packed); err != nil {
			return nil, damaged(op, "a conversation's log cannot be read", err)
		}
	}
	return u.events, fault(op, rows.Err())
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
	args := []any{wall, s.generation, steady, limit}
	var found []runRow
	var err error
	if s.writer.open.Load() {
		// Leases were given that readers do not see yet.
		err = s.write(ctx, op, true, func(x *tx) (err error) {
			found, err = runRows(x.query(selectDue, args...))
			return err
		})
	} else {
		if !s.reader.enter() {
			return nil, isClosed(op)
		}
		defer s.reader.leave()
		found, err = runRows(s.reader.query(ctx, selectDue, args...))
	}
	if err != nil {
		return nil, fault(op, err)
	}
	due := make([]journal.Run, len(found))
	for i := range found {
		if due[i], err = found[i].read(op); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// runRows takes in what a query for runs has found.
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

// Keys are given in the order of admission, which no clock can change.
const selectDue = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE r.due <= ? AND r.turn = c.ended + 1
		AND (r.status <> 'running' OR c.until IS NULL OR c.generation <> ? OR c.until <= ?)
	ORDER BY r.key LIMIT ?`
