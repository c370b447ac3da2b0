package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// epochGap is how far the epoch jumps when a folder has a new owner: a power cut
// may have lost leases that were never written under, and no epoch is given twice.
const epochGap = 100

// opening is a lease that was given, with what its driver gets, as rows.
type opening struct {
	row    runRow
	lease  journal.Lease
	last   int64
	mail   []mailRow
	shared map[string]json.RawMessage
}

// Acquire implements [journal.Store].
func (s *Store) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	const op = "journal acquire"
	if err := alive(ctx, op); err != nil {
		return journal.Opened{}, err
	}
	if run == "" {
		return journal.Opened{}, noID(op, "a run needs an id")
	}
	var o opening
	err := s.write(ctx, op, true, func(x *tx) (err error) {
		o, err = s.acquire(x, op, run)
		return err
	})
	if err != nil {
		return journal.Opened{}, err
	}
	return s.opened(ctx, op, &o, have)
}

// Start implements [journal.Starter].
func (s *Store) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	const op = "journal start"
	if err := alive(ctx, op); err != nil {
		return journal.Opened{}, err
	}
	a, err := newAdmission(op, r)
	if err != nil {
		return journal.Opened{}, err
	}
	var o opening
	var row runRow
	var refusal *event.Error
	err = s.write(ctx, op, true, func(x *tx) (err error) {
		if row, err = a.admit(x); err != nil {
			return err
		}
		// The run stays admitted where it cannot be taken.
		refusal = nil
		o, err = s.acquire(x, op, row.run.ID)
		if errors.As(err, &refusal) {
			err = nil
		}
		return err
	})
	if err != nil {
		return journal.Opened{}, err
	}
	if refusal == nil {
		return s.opened(ctx, op, &o, have)
	}
	run, err := row.read(op)
	if err != nil {
		return journal.Opened{}, err
	}
	return journal.Opened{Run: run}, refusal
}

const (
	selectAcquire = `SELECT ` + runColumns + `, c.key, c.ended, c.last, c.epoch, c.until, c.generation
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	updateLease = `UPDATE conversation SET epoch = ?, holder = ?, until = ?, generation = ? WHERE key = ?`

	setRunning = `UPDATE run SET status = 'running', wake = NULL, due = 0 WHERE key = ?`

	selectUnread = `SELECT ` + mailColumns + ` FROM mail WHERE run = ? AND read = 0 ORDER BY key`

	selectShared = `SELECT name, value FROM state WHERE tenant = ? AND owner IN ('app', ?)`
)

// acquire gives a lease on the run's conversation.
func (s *Store) acquire(x *tx, op, run string) (opening, error) {
	var o opening
	var conversation, ended0, generation, epoch int64
	var until sql.NullInt64
	there, err := x.row(selectAcquire, []any{run},
		append(o.row.into(), &conversation, &ended0, &o.last, &epoch, &until, &generation)...)
	r := &o.row.run
	switch {
	case err != nil:
		return opening{}, err
	case !there:
		return opening{}, notFound(op, "there is no such run")
	case r.Status.Ended():
		return opening{}, ended(op)
	case int64(r.Turn) > ended0+1:
		return opening{}, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message: "an earlier run of the conversation has not ended",
			Hint:    "wait for it to end, or cancel it",
		}
	case until.Valid && generation == s.generation && x.steady < until.Int64:
		return opening{}, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message:    "another driver holds the conversation",
			Hint:       "try again once its lease has run out",
			RetryAfter: time.Duration(until.Int64-x.steady) * time.Microsecond,
		}
	}
	if epoch > 0 && generation != s.generation {
		epoch += epochGap
	}
	epoch++
	if _, err := x.exec(updateLease, epoch, o.row.key, x.steady+s.term.Microseconds(), s.generation, conversation); err != nil {
		return opening{}, err
	}
	if r.Status != event.RunRunning {
		if _, err := x.exec(setRunning, o.row.key); err != nil {
			return opening{}, err
		}
	}
	r.Status, o.row.wake = event.RunRunning, sql.NullInt64{}
	o.lease = journal.Lease{Conversation: r.Conversation, Run: r.ID, Epoch: epoch, Until: x.now.Add(s.term)}

	mail, err := x.query(selectUnread, o.row.key)
	if err != nil {
		return opening{}, err
	}
	defer mail.Close()
	for mail.Next() {
		var m mailRow
		if err := mail.Scan(m.into()...); err != nil {
			return opening{}, err
		}
		o.mail = append(o.mail, m)
	}
	if err := mail.Err(); err != nil {
		return opening{}, err
	}
	shared, err := x.query(selectShared, r.Tenant, userOwner(r.User))
	if err != nil {
		return opening{}, err
	}
	o.shared, err = readState(shared)
	return o, err
}

// opened reads what the lease's driver does not have. Where that fails the lease
// is given back, as far as that can be done: nobody has heard of it.
func (s *Store) opened(ctx context.Context, op string, o *opening, have int64) (opened journal.Opened, err error) {
	defer func() {
		if err != nil {
			_ = s.Commit(context.WithoutCancel(ctx), o.lease, journal.Batch{Release: true})
		}
	}()
	opened = journal.Opened{Lease: o.lease, Last: o.last, Shared: o.shared}
	if opened.Run, err = o.row.read(op); err != nil {
		return journal.Opened{}, err
	}
	for i := range o.mail {
		m, err := o.mail[i].read(op, opened.Run.ID)
		if err != nil {
			return journal.Opened{}, err
		}
		opened.Mail = append(opened.Mail, m)
	}
	if have >= o.last {
		return opened, nil
	}
	have = max(have, 0)
	opened.Events, err = s.read(ctx, op, opened.Run.Conversation, have, int(o.last-have))
	if err != nil {
		return journal.Opened{}, err
	}
	if int64(len(opened.Events)) != o.last-have {
		return journal.Opened{}, damaged(op, "a conversation's log is shorter than it was", nil)
	}
	return opened, nil
}

// Renew implements [journal.Store].
func (s *Store) Renew(ctx context.Context, l journal.Lease) (cancelled bool, err error) {
	const op = "journal renew"
	if err := alive(ctx, op); err != nil {
		return false, err
	}
	if l.Run == "" || l.Conversation == "" {
		return false, noID(op, "a lease names a run and its conversation")
	}
	err = s.write(ctx, op, true, func(x *tx) error {
		f, err := s.fence(x, l.Conversation)
		if err != nil {
			return err
		}
		if !f.heldBy(l) {
			return leaseLost(op)
		}
		cancelled = f.cancelled
		_, err = x.exec(`UPDATE conversation SET until = ? WHERE key = ?`, x.steady+s.term.Microseconds(), f.key)
		return err
	})
	return cancelled, err
}
