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

// epochGap is how far epochs jump when a folder has a new owner. A crash may have lost leases,
// fewer than epochGap, that nothing was written under. The jump ensures that no epoch is given
// twice.
const epochGap = maxPending + maxGroup

// opening is a new lease and the rows that its driver gets.
type opening struct {
	row    runRow
	place  place
	lease  journal.Lease
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
		o, err = s.find(x, op, run)
		return err
	})
	if err != nil {
		return journal.Opened{}, err
	}
	return s.opened(ctx, op, &o, have)
}

// Start implements [journal.Store].
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
	err = s.write(ctx, op, true, func(x *tx) error {
		var p *place
		var err error
		if row, p, err = s.admit(x, a); err != nil {
			return err
		}
		if p == nil {
			o, err = s.find(x, op, row.run.ID)
		} else {
			o = opening{row: row, place: *p}
			err = s.acquire(x, op, &o, false)
		}
		// A run that cannot be acquired stays admitted.
		refusal = nil
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
	selectAcquire = `SELECT ` + runColumns + `, c.key, c.turns, c.ended, c.last, c.epoch, c.until, c.generation, c.steps,
		EXISTS (SELECT 1 FROM mail m WHERE m.run = r.key AND m.read = 0)
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	updateLease = `UPDATE conversation SET epoch = ?, holder = ?, until = ?, generation = ? WHERE key = ?`

	setRunning = `UPDATE run SET status = 'running', wake = NULL, due = 0 WHERE key = ?`

	selectUnread = `SELECT ` + mailColumns + ` FROM mail WHERE run = ? AND read = 0 ORDER BY early DESC, key`

	selectShared = `SELECT name, value FROM state WHERE tenant = ? AND owner IN ('app', ?)`
)

// find looks the run up and acquires it.
func (s *Store) find(x *tx, op, run string) (opening, error) {
	var o opening
	var unread bool
	there, err := x.row(selectAcquire, []any{run}, append(append(o.row.into(), o.place.into()...), &unread)...)
	if err != nil {
		return opening{}, err
	}
	if !there {
		return opening{}, notFound(op, "there is no such run")
	}
	err = s.acquire(x, op, &o, unread)
	return o, err
}

// acquire gives a lease on the run's conversation. unread means that the run has mail.
func (s *Store) acquire(x *tx, op string, o *opening, unread bool) (err error) {
	r, p := &o.row.run, &o.place
	switch {
	case r.Status.Ended():
		return ended(op)
	case r.Turn > p.ended+1:
		return &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message: "an earlier run of the conversation has not ended",
			Hint:    "wait for it to end, or cancel it",
		}
	case p.until.Valid && p.generation == s.generation && x.steady < p.until.Int64:
		return &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message:    "another driver holds the conversation",
			Hint:       "try again once its lease has run out",
			RetryAfter: time.Duration(p.until.Int64-x.steady) * time.Microsecond,
		}
	}
	epoch := p.epoch + 1
	if p.generation != s.generation {
		epoch += epochGap
	}
	if _, err := x.exec(updateLease, epoch, o.row.key, x.steady+s.term.Microseconds(), s.generation, p.key); err != nil {
		return err
	}
	if r.Status != event.RunRunning {
		if _, err := x.exec(setRunning, o.row.key); err != nil {
			return err
		}
	}
	if p.until.Valid {
		r.Lost++
		if _, err := x.exec(setLost, r.Lost, o.row.key); err != nil {
			return err
		}
	}
	// Taking over a run that another process left must be durable: if this process dies at once,
	// the count of lost drivers must survive.
	x.durable = x.durable || p.until.Valid || o.row.admitted < s.began
	r.Status, o.row.wake = event.RunRunning, sql.NullInt64{}
	o.lease = journal.Lease{Conversation: r.Conversation, Run: r.ID, Epoch: epoch, Until: x.now.Add(s.term), Term: s.term}

	if unread {
		if o.mail, err = mailRows(x.query(selectUnread, o.row.key)); err != nil {
			return err
		}
	}
	if x.w.shares.Load() {
		if o.shared, err = readState(x.query(selectShared, r.Tenant, userOwner(r.User))); err != nil {
			return err
		}
	}
	f := &fence{
		id: r.Conversation, key: p.key, last: p.last, epoch: epoch, held: true, runKey: o.row.key, run: r.ID, turn: r.Turn,
		status: r.Status, cancelled: r.Cancelled, tenant: r.Tenant, user: r.User, lost: r.Lost,
	}
	if err := f.readSteps(op, p.steps); err != nil {
		return err
	}
	x.w.know(f)
	return nil
}

// mailRows reads the rows of a query for mail.
func mailRows(rows *sql.Rows, err error) ([]mailRow, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var mail []mailRow
	for rows.Next() {
		var m mailRow
		if err := rows.Scan(m.into()...); err != nil {
			return nil, err
		}
		mail = append(mail, m)
	}
	return mail, rows.Err()
}

// readMail decodes rows of mail.
func readMail(op, run string, rows []mailRow) ([]journal.Mail, error) {
	var mail []journal.Mail
	for i := range rows {
		m, err := rows[i].read(op, run)
		if err != nil {
			return nil, err
		}
		mail = append(mail, m)
	}
	return mail, nil
}

// opened reads what the lease's driver lacks. If that fails, it tries to release the lease: the caller gets an error
// and no lease, so the run would wait until the lease expires.
func (s *Store) opened(ctx context.Context, op string, o *opening, have int64) (opened journal.Opened, err error) {
	defer func() {
		if err != nil {
			_ = s.Commit(context.WithoutCancel(ctx), o.lease, journal.Batch{Release: true})
		}
	}()
	opened = journal.Opened{Lease: o.lease, Last: o.place.last, Shared: o.shared}
	if opened.Run, err = o.row.read(op); err != nil {
		return journal.Opened{}, err
	}
	if opened.Mail, err = readMail(op, opened.Run.ID, o.mail); err != nil {
		return journal.Opened{}, err
	}
	if have >= o.place.last {
		return opened, nil
	}
	have = max(have, 0)
	opened.Events, _, err = s.reader.page(ctx, opened.Run.Conversation, have, int(o.place.last-have), 0)
	if err != nil {
		return journal.Opened{}, err
	}
	if int64(len(opened.Events)) != o.place.last-have {
		return journal.Opened{}, damaged(op, "a conversation's log is shorter than it was", nil)
	}
	return opened, nil
}

// Renew implements [journal.Store].
func (s *Store) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	const op = "journal renew"
	if err := alive(ctx, op); err != nil {
		return journal.News{}, err
	}
	if l.Run == "" || l.Conversation == "" {
		return journal.News{}, noID(op, "a lease names a run and its conversation")
	}
	var news journal.News
	var found []mailRow
	err := s.write(ctx, op, true, func(x *tx) error {
		f, err := s.fence(x, op, l.Conversation)
		if err != nil {
			return err
		}
		if !f.heldBy(l) {
			return leaseLost(op)
		}
		news.Cancelled = f.cancelled
		if found, err = mailRows(x.query(selectUnread, f.runKey)); err != nil {
			return err
		}
		_, err = x.exec(`UPDATE conversation SET until = ? WHERE key = ?`, x.steady+s.term.Microseconds(), f.key)
		return err
	})
	if err != nil {
		return journal.News{}, err
	}
	if news.Mail, err = readMail(op, l.Run, found); err != nil {
		return journal.News{}, err
	}
	return news, nil
}
