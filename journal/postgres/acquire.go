package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/pg"
	"github.com/braidrun/braid/journal"
)

// opening is a new lease and the rows that its driver gets.
type opening struct {
	row    runRow
	place  place
	lease  journal.Lease
	mail   []mailRow
	shared map[string]json.RawMessage
	log    []logRow
}

const (
	// A writer locks the conversation first, in a statement of its own, so that later statements
	// see a state no older than the lock.
	lockConversation = `SELECT 1 FROM conversation WHERE id = $1 FOR UPDATE`
	lockRun          = `SELECT 1 FROM conversation WHERE key = (SELECT conversation FROM run WHERE id = $1) FOR UPDATE`

	selectAcquire = `SELECT ` + runColumns + `, ` + placeColumns + `
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = $1`

	selectUnread = `SELECT ` + mailColumns + ` FROM mail m JOIN run r ON r.key = m.run
		WHERE r.id = $1 AND m.read = 0 ORDER BY m.early DESC, m.key`

	selectShared = `SELECT s.name, s.value FROM state s WHERE s.tenant = $1 AND s.owner IN ('app', $2)`

	updateLease = `UPDATE conversation SET epoch = $2, holder = $3, until = $4 WHERE key = $1`

	setRunning = `UPDATE run SET status = 'running', wake = NULL, due = 0, lost = $2 WHERE key = $1`

	setLost = `UPDATE run SET lost = $2 WHERE key = $1`
)

// Acquire implements [journal.Store].
func (s *Store) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	const op = "journal acquire"
	if err := alive(ctx, op); err != nil {
		return journal.Opened{}, err
	}
	if run == "" {
		return journal.Opened{}, noID(op, "a run needs an id")
	}
	if err := names(op, run); err != nil {
		return journal.Opened{}, err
	}
	var o opening
	err := s.transact(ctx, op, ofRun(run), func(x *tx) error {
		o = opening{}
		var there bool
		err := x.begin(beginWrite, do(lockRun, run),
			ask(selectAcquire, []any{run}, &there, append(o.row.into(), o.place.into()...)...),
			list(selectUnread, []any{run}, mailInto(&o.mail)))
		if err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		statements, err := s.take(op, &o, have)
		if err != nil {
			return err
		}
		return s.commitLease(x, &o, statements)
	})
	if err != nil {
		return journal.Opened{}, err
	}
	s.lost.drop(run)
	return s.opened(ctx, op, &o, have)
}

// commitLease commits a lease, and remembers it if it is unknown whether the database has it.
func (s *Store) commitLease(x *tx, o *opening, statements []question) error {
	err := x.commit(statements...)
	if err != nil && pg.Code(err) == "" && o.lease.Run != "" {
		s.lost.add(o.lease)
	}
	return err
}

// Start implements [journal.Store]. It is one transaction, and as durable as others.
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
	var refusal *event.Error
	row, known, err := s.admit(ctx, a, func(x *tx, row *runRow, p *place) error {
		o, refusal = opening{row: *row, place: *p}, nil
		statements, err := s.take(op, &o, have)
		if err != nil && !errors.As(err, &refusal) {
			return err
		}
		// A run that cannot be acquired stays admitted.
		return s.commitLease(x, &o, append([]question{row.insert(a)}, statements...))
	})
	if err != nil {
		return journal.Opened{}, err
	}
	if known {
		opened, err := s.Acquire(ctx, row.run.ID, have)
		if !errors.As(err, &refusal) {
			return opened, err
		}
		if refusal.Kind != event.ErrLocked && refusal.Kind != event.ErrConflict {
			return journal.Opened{}, err
		}
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

// take decides whether the run can be acquired, and returns the statements that acquire it.
func (s *Store) take(op string, o *opening, have int64) ([]question, error) {
	r, p := &o.row.run, &o.place
	// If this store never learned of the lease, no driver used it, so no driver was lost.
	unused := p.until != nil && s.lost.has(r.ID, p.epoch, *p.until)
	switch {
	case r.Status.Ended():
		return nil, ended(op)
	case r.Turn > p.ended+1:
		return nil, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message: "an earlier run of the conversation has not ended",
			Hint:    "wait for it to end, or cancel it",
		}
	case p.until != nil && p.now < *p.until && !unused:
		return nil, &event.Error{
			Op: op, Kind: event.ErrLocked,
			Message:    "another driver holds the conversation",
			Hint:       "try again once its lease has run out",
			RetryAfter: time.Duration(*p.until-p.now) * time.Microsecond,
		}
	}
	epoch, until := p.epoch+1, p.now+s.term.Microseconds()
	if p.until != nil && !unused {
		r.Lost++
	}
	r.Status, o.row.wake = event.RunRunning, nil
	o.lease = journal.Lease{Conversation: r.Conversation, Run: r.ID, Epoch: epoch, Until: fromMicros(until), Term: s.term}
	statements := []question{
		do(updateLease, p.key, epoch, o.row.key, until),
		do(setRunning, o.row.key, r.Lost),
		list(selectShared, []any{r.Tenant, userOwner(r.User)}, stateInto(&o.shared)),
	}
	if have < p.last {
		statements = append(statements, list(selectLog, []any{r.Conversation, max(have, 0)}, logInto(&o.log)))
	}
	return statements, nil
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
	if opened.Events, err = readLog(op, opened.Run.Conversation, have, 0, o.log); err != nil {
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
	if err := names(op, l.Run, l.Conversation); err != nil {
		return journal.News{}, err
	}
	var news journal.News
	var found []mailRow
	err := s.transact(ctx, op, ofConversation(l.Conversation), func(x *tx) error {
		found = nil
		f, err := x.fence(op, l.Conversation, list(selectUnread, []any{l.Run}, mailInto(&found)))
		if err != nil {
			return err
		}
		if !f.heldBy(l) {
			return leaseLost(op)
		}
		news.Cancelled = f.cancelled
		return x.commitLazily(do(`UPDATE conversation SET until = $2 WHERE key = $1`, f.key, f.now+s.term.Microseconds()))
	})
	if err != nil {
		return journal.News{}, err
	}
	if news.Mail, err = readMail(op, l.Run, found); err != nil {
		return journal.News{}, err
	}
	return news, nil
}

// logRow is a row of the log.
type logRow struct {
	first, last, epoch int64
	events             []byte
}

func logInto(found *[]logRow) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var l logRow
		err := rows.Scan(&l.first, &l.last, &l.epoch, &l.events)
		*found = append(*found, l)
		return err
	}
}
