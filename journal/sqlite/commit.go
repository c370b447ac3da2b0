package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

// Commit implements [journal.Store].
func (s *Store) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	const op = "journal commit"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if l.Run == "" || l.Conversation == "" {
		return noID(op, "a lease names a run and its conversation")
	}
	if err := journal.CheckBatch(op, l, b); err != nil {
		return err
	}
	var packed []byte
	if len(b.Events) > 0 {
		var err error
		if packed, err = logrow.Pack(b.Events); err != nil {
			return fault(op, err)
		}
	}
	// Releasing a lease and nothing else need not be durable: after a power cut, opening the
	// folder voids the lease anyway.
	lazy := len(b.Events) == 0 && len(b.Read) == 0 && len(b.Usage) == 0 && len(b.Tools) == 0 && (b.Status == "" || b.Status == event.RunRunning)
	return s.write(ctx, op, lazy, func(x *tx) error { return s.commit(x, op, l, b, packed) })
}

const (
	insertLog = `INSERT INTO log (conversation, first, last, epoch, events) VALUES (?, ?, ?, ?, ?)`

	markRead = `UPDATE mail SET read = 1, value = NULL, message = NULL WHERE run = ? AND id = ? AND read = 0`

	// The tenant's total is updated when the lease is released, and after many bytes.
	moveFence = `UPDATE conversation SET last = ?1, until = iif(?2, NULL, until), ended = ended + ?3, steps = ?4, bytes = bytes + ?5,
		counted = iif(?2 OR abs(bytes + ?5 - counted) >= 65536, bytes + ?5, counted) WHERE key = ?6`

	setStatus = `UPDATE run SET status = ?, wake = ?, due = ?, failure = ? WHERE key = ?`

	// Reports whether the run has mail that makes it due while it waits.
	selectNews = `SELECT EXISTS (SELECT 1 FROM mail WHERE run = ? AND read = 0 AND kind <> 'message')`

	setFirst = `UPDATE run SET first = ?, session = ? WHERE key = ? AND first IS NULL`

	insertCompaction = `INSERT INTO compaction (conversation, seq, first, last) VALUES (?, ?, ?, ?)`
)

func (s *Store) commit(x *tx, op string, l journal.Lease, b journal.Batch, packed []byte) error {
	f, err := s.fence(x, op, l.Conversation)
	if err != nil {
		return err
	}
	if len(b.Events) > 0 && b.Events[0].Seq <= f.last {
		return f.repeated(x, op, l, b)
	}
	if !f.heldBy(l) {
		return f.released(x, op, l, b)
	}
	if len(b.Events) > 0 && b.Events[0].Seq != f.last+1 {
		return leaseLost(op)
	}
	steps, err := journal.FollowSteps(op, f.steps, b.Events)
	if err != nil {
		return err
	}
	if err := f.consume(x, op, b.Read); err != nil {
		return err
	}

	next, over := *f, 0
	if n := len(b.Events); n > 0 {
		next.last = b.Events[n-1].Seq
		if _, err := x.exec(insertLog, f.key, f.last+1, next.last, l.Epoch, packed); err != nil {
			return err
		}
	}
	if err := f.record(x, &b); err != nil {
		return err // before the batch erases anything
	}
	if len(b.Events) > 0 {
		for _, e := range b.Events {
			if err := f.index(x, e); err != nil {
				return err
			}
		}
	}
	if f.lost > 0 && journal.Progresses(b.Events) {
		if _, err := x.exec(setLost, 0, f.runKey); err != nil {
			return err
		}
		next.lost = 0
	}
	if b.Status.Ended() {
		steps, over = nil, 1
	}
	next.steps = steps
	next.held = !b.GivesBack()
	var open []byte
	if len(steps) > 0 {
		if open, err = json.Marshal(steps); err != nil {
			return err
		}
	}
	if _, err := x.exec(moveFence, next.last, !next.held, over, text(open), len(packed), f.key); err != nil {
		return err
	}
	if err := next.setStatus(x, b); err != nil {
		return err
	}
	if b.Status.Ended() {
		if err := next.passOn(x); err != nil {
			return err
		}
	}
	*f = next
	return nil
}

// consume marks mail as read. An ID may occur twice.
func (f *fence) consume(x *tx, op string, ids []string) error {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		n, err := x.exec(markRead, f.runKey, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return &event.Error{
				Op: op, Kind: event.ErrConflict,
				Message: "the commit reads mail that is not there or was read before",
				Hint:    "read only mail that came with the lease, and each once",
			}
		}
	}
	return nil
}

// index writes what an event means beyond the log.
func (f *fence) index(x *tx, e *event.Event) error {
	switch body := e.Body.(type) {
	case *event.StateChanged:
		return f.share(x, body)
	case *event.RunStarted:
		_, err := x.exec(setFirst, e.Seq, body.Session, f.runKey)
		return err
	case *event.Redacted:
		return f.erase(x, body)
	case *event.Compacted:
		if last := body.Covered(); e.Scope == "" && last >= body.From {
			_, err := x.exec(insertCompaction, f.key, e.Seq, body.From, last)
			return err
		}
	}
	return nil
}

func (f *fence) setStatus(x *tx, b journal.Batch) error {
	if b.Status == "" || b.Status == f.status && b.Status != event.RunWaiting {
		return nil
	}
	f.status, f.wake = b.Status, sql.NullInt64{}
	due := sql.NullInt64{Valid: true}
	switch {
	case b.Status.Ended():
		due.Valid = false
	case b.Status == event.RunWaiting:
		if !b.WakeAt.IsZero() {
			f.wake = sql.NullInt64{Int64: wakeMicros(b.WakeAt), Valid: true}
		}
		news := false
		if _, err := x.row(selectNews, []any{f.runKey}, &news); err != nil {
			return err
		}
		if !news {
			due = f.wake
		}
	}
	_, err := x.exec(setStatus, b.Status, f.wake, due, journal.Failure(b.Events), f.runKey)
	return err
}

// released returns the result of a batch whose lease is not in force. It succeeds only if the
// lease was the newest, was released, and the batch changes nothing.
func (f *fence) released(x *tx, op string, l journal.Lease, b journal.Batch) error {
	if len(b.Events) > 0 || !b.GivesBack() || !f.current(l) ||
		b.Status != "" && (b.Status != f.status || !f.wakesAt(b.WakeAt)) {
		return leaseLost(op)
	}
	for _, id := range b.Read {
		read := false
		if _, err := x.row(`SELECT read = 1 FROM mail WHERE run = ? AND id = ?`, []any{f.runKey, id}, &read); err != nil {
			return err
		}
		if !read {
			return leaseLost(op)
		}
	}
	return nil
}

func (f *fence) wakesAt(t time.Time) bool {
	if t.IsZero() {
		return !f.wake.Valid
	}
	return f.wake.Valid && f.wake.Int64 == wakeMicros(t)
}

const selectOverlap = `SELECT first, last, epoch, events FROM log
	WHERE conversation = ? AND last >= ? AND first <= ? ORDER BY last`

// repeated returns the result of a batch that would overwrite events. It succeeds if they are the
// batch's own; see [journal.Store].Commit, "Repeats".
func (f *fence) repeated(x *tx, op string, l journal.Lease, b journal.Batch) error {
	from, to := b.Events[0].Seq, b.Events[len(b.Events)-1].Seq
	if to > f.last || !f.current(l) && !b.GivesBack() {
		return leaseLost(op)
	}
	rows, err := x.query(selectOverlap, f.key, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	u := logrow.Reader{Conversation: f.id, After: from - 1, Max: len(b.Events)}
	for rows.Next() {
		var first, last, epoch int64
		var packed []byte
		if err := rows.Scan(&first, &last, &epoch, &packed); err != nil {
			return err
		}
		if epoch != l.Epoch {
			return leaseLost(op)
		}
		if err := u.Row(first, last, packed); err != nil {
			return damaged(op, "a conversation's log cannot be read", err)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(u.Events) != len(b.Events) {
		return damaged(op, "a conversation's log has a gap", nil)
	}
	for i, e := range b.Events {
		if !sameEvent(u.Events[i], e) {
			return leaseLost(op)
		}
	}
	return nil
}

// sameEvent compares the identity of two events of one lease, not their content.
func sameEvent(a, b *event.Event) bool {
	return a.Seq == b.Seq && a.Run == b.Run && a.Step == b.Step && a.Attempt == b.Attempt &&
		a.Body.Kind() == b.Body.Kind()
}
