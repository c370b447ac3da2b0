package postgres

import (
	"context"
	"encoding/json"
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
	if err := names(op, l.Run, l.Conversation); err != nil {
		return err
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
	return s.transact(ctx, op, ofConversation(l.Conversation), func(x *tx) error {
		f, err := x.fence(op, l.Conversation)
		if err != nil {
			return err
		}
		if len(b.Events) > 0 && b.Events[0].Seq <= f.last {
			return f.repeated(x, op, l, b)
		}
		if !f.heldBy(l) {
			return f.released(x, op, l, b)
		}
		return f.commit(x, op, l, b, packed)
	})
}

// fence guards a conversation's log: it says who may write, and at which Seq. It names the run of
// the newest lease.
type fence struct {
	key       int64
	id        string
	last      int64
	epoch     int64
	held      bool
	now       int64
	steps     []journal.OpenStep
	runKey    int64
	run       string
	turn      int
	status    event.RunStatus
	wake      *int64
	cancelled bool
	tenant    string
	user      string
	lost      int
	// letters reports unread messages, and news reports mail that makes a waiting run due.
	news    bool
	letters bool
}

const selectFence = `SELECT c.key, c.last, c.epoch, c.until IS NOT NULL, store_clock(), c.steps,
	r.key, r.id, r.turn, r.status, r.wake, r.cancelled, r.tenant, r.person, r.lost,
	EXISTS (SELECT 1 FROM mail m WHERE m.run = r.key AND m.read = 0 AND m.kind <> 'message'),
	EXISTS (SELECT 1 FROM mail m WHERE m.run = r.key AND m.read = 0 AND m.kind = 'message')
	FROM conversation c JOIN run r ON r.key = c.holder WHERE c.id = $1`

// fence begins the transaction, locks the conversation and reads its fence, which is empty if the
// conversation never had a lease.
func (x *tx) fence(op, conversation string, more ...question) (*fence, error) {
	f := &fence{id: conversation}
	var there bool
	var steps []byte
	questions := []question{
		do(lockConversation, conversation),
		ask(selectFence, []any{conversation}, &there, &f.key, &f.last, &f.epoch, &f.held, &f.now, &steps,
			&f.runKey, &f.run, &f.turn, &f.status, &f.wake, &f.cancelled, &f.tenant, &f.user, &f.lost, &f.news, &f.letters),
	}
	if err := x.begin(beginWrite, append(questions, more...)...); err != nil || !there {
		return f, err
	}
	if len(steps) > 0 {
		if err := json.Unmarshal(steps, &f.steps); err != nil {
			return nil, damaged(op, "the open steps of a run cannot be read", err)
		}
	}
	return f, nil
}

// current reports whether l is the newest lease, released or not.
func (f *fence) current(l journal.Lease) bool {
	return f.key != 0 && f.run == l.Run && f.epoch == l.Epoch && f.id == l.Conversation
}

// heldBy reports whether l is the lease in force.
func (f *fence) heldBy(l journal.Lease) bool { return f.held && f.current(l) }

const (
	insertLog = `INSERT INTO log (conversation, tenant, first, last, epoch, events) VALUES ($1, $2, $3, $4, $5, $6)`

	moveFence = `UPDATE conversation SET last = $2, until = CASE WHEN $3 THEN NULL ELSE until END, ended = ended + $4, steps = $5,
		bytes = bytes + $6, counted = counted WHERE key = $1`

	setStatus = `UPDATE run SET status = $2, wake = $3, due = $4, failure = $5 WHERE key = $1`

	setFirst = `UPDATE run SET first = $2, session = $3 WHERE key = $1 AND first IS NULL`

	insertCompaction = `INSERT INTO compaction (conversation, tenant, seq, first, last) VALUES ($1, $2, $3, $4, $5)`
)

// commit writes the batch under the lease in force.
func (f *fence) commit(x *tx, op string, l journal.Lease, b journal.Batch, packed []byte) error {
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
	writes := f.record(nil, &b) // before the batch erases anything
	last, over := f.last, 0
	if n := len(b.Events); n > 0 {
		last = b.Events[n-1].Seq
		writes = append(writes, do(insertLog, f.key, f.tenant, f.last+1, last, l.Epoch, packed))
		writes = append(writes, f.index(b.Events)...)
		for _, e := range b.Events {
			if r, ok := e.Body.(*event.Redacted); ok {
				// The batch's own events may be the target.
				if err := x.more(writes...); err != nil {
					return err
				}
				if writes, err = f.erase(x, op, r); err != nil {
					return err
				}
			}
		}
	}
	if f.lost > 0 && journal.Progresses(b.Events) {
		writes = append(writes, do(setLost, f.runKey, 0))
	}
	if b.Status.Ended() {
		steps, over = nil, 1
	}
	var open []byte
	if len(steps) > 0 {
		if open, err = json.Marshal(steps); err != nil {
			return err
		}
	}
	writes = append(writes, do(moveFence, f.key, last, b.GivesBack(), over, open, len(packed)))
	writes = append(writes, f.setStatus(b)...)
	if b.Status.Ended() && f.letters {
		if err := x.more(writes...); err != nil {
			return err
		}
		if writes, err = f.passOn(x); err != nil {
			return err
		}
	}
	if len(b.Events) == 0 && len(b.Read) == 0 && len(b.Usage) == 0 && len(b.Tools) == 0 && (b.Status == "" || b.Status == event.RunRunning) {
		// A release that is lost in a crash is harmless: the lease expires.
		return x.commitLazily(writes...)
	}
	return x.commit(writes...)
}

const markRead = `WITH gone AS (
		UPDATE mail SET read = 1, value = NULL, message = NULL WHERE run = $1 AND id = ANY ($2) AND read = 0 RETURNING id
	) SELECT (SELECT count(*) FROM gone),
		EXISTS (SELECT 1 FROM mail WHERE run = $1 AND read = 0 AND kind <> 'message' AND id <> ALL ($2)),
		EXISTS (SELECT 1 FROM mail WHERE run = $1 AND read = 0 AND kind = 'message' AND id <> ALL ($2))`

// consume marks mail as read. An ID may occur twice.
func (f *fence) consume(x *tx, op string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := names(op, ids...); err != nil {
		return err
	}
	different := make(map[string]bool, len(ids))
	for _, id := range ids {
		different[id] = true
	}
	var n int
	var there bool
	if err := x.more(ask(markRead, []any{f.runKey, ids}, &there, &n, &f.news, &f.letters)); err != nil {
		return err
	}
	if n != len(different) {
		return &event.Error{
			Op: op, Kind: event.ErrConflict,
			Message: "the commit reads mail that is not there or was read before",
			Hint:    "read only mail that came with the lease, and each once",
		}
	}
	return nil
}

// index returns the statements for what events mean beyond the log.
func (f *fence) index(events []*event.Event) []question {
	var writes []question
	changed := make(changes)
	for _, e := range events {
		switch body := e.Body.(type) {
		case *event.StateChanged:
			changed.merge(f, body)
		case *event.RunStarted:
			writes = append(writes, do(setFirst, f.runKey, e.Seq, body.Session))
		case *event.Compacted:
			if last := body.Covered(); e.Scope == "" && last >= body.From {
				writes = append(writes, do(insertCompaction, f.key, f.tenant, e.Seq, body.From, last))
			}
		}
	}
	return append(writes, changed.writes(f.tenant)...)
}

func (f *fence) setStatus(b journal.Batch) []question {
	if b.Status == "" || b.Status == f.status && b.Status != event.RunWaiting {
		return nil
	}
	var wake, due *int64
	now := int64(0)
	switch {
	case b.Status.Ended():
	case b.Status == event.RunWaiting:
		if !b.WakeAt.IsZero() {
			us := wakeMicros(b.WakeAt)
			wake = &us
		}
		if due = wake; f.news {
			due = &now
		}
	default:
		due = &now
	}
	return []question{do(setStatus, f.runKey, b.Status, wake, due, journal.Failure(b.Events))}
}

// released returns the result of a batch whose lease is not in force. It succeeds only if the
// lease was the newest, was released, and the batch changes nothing.
func (f *fence) released(x *tx, op string, l journal.Lease, b journal.Batch) error {
	if len(b.Events) > 0 || !b.GivesBack() || !f.current(l) ||
		b.Status != "" && (b.Status != f.status || !f.wakesAt(b.WakeAt)) {
		return leaseLost(op)
	}
	for _, id := range b.Read {
		if names(op, id) != nil {
			return leaseLost(op)
		}
		there, read := false, false
		if err := x.more(ask(`SELECT read = 1 FROM mail WHERE run = $1 AND id = $2`, []any{f.runKey, id}, &there, &read)); err != nil {
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
		return f.wake == nil
	}
	return f.wake != nil && *f.wake == wakeMicros(t)
}

const selectOverlap = `SELECT first, last, epoch, events FROM log
	WHERE conversation = $1 AND last >= $2 AND first <= $3 ORDER BY last`

// repeated returns the result of a batch that would overwrite events. It succeeds if they are the
// batch's own; see [journal.Store].Commit, "Repeats".
func (f *fence) repeated(x *tx, op string, l journal.Lease, b journal.Batch) error {
	from, to := b.Events[0].Seq, b.Events[len(b.Events)-1].Seq
	if to > f.last || !f.current(l) && !b.GivesBack() {
		return leaseLost(op)
	}
	var rows []logRow
	if err := x.more(list(selectOverlap, []any{f.key, from, to}, logInto(&rows))); err != nil {
		return err
	}
	for _, r := range rows {
		if r.epoch != l.Epoch {
			return leaseLost(op)
		}
	}
	stored, err := readLog(op, f.id, from-1, len(b.Events), rows)
	if err != nil {
		return err
	}
	if len(stored) != len(b.Events) {
		return damaged(op, "a conversation's log has a gap", nil)
	}
	for i, e := range b.Events {
		if !sameEvent(stored[i], e) {
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
