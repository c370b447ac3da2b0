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

// admission is a run to admit, with its JSON already encoded.
type admission struct {
	op       string
	run      journal.Run
	input    []byte
	metadata []byte
	// first is the input if the run is the conversation's first.
	first []byte
	// status is the run's first status.
	status event.RunStatus
}

func newAdmission(op string, r journal.Run) (*admission, error) {
	if r.ID == "" || r.Conversation == "" {
		return nil, noID(op, "a run and its conversation need an id")
	}
	if err := names(op, r.ID, r.Conversation, r.Tenant, r.User, r.Agent, r.Key, r.Executor, r.Incarnation); err != nil {
		return nil, err
	}
	a := &admission{op: op, run: r, status: event.RunQueued}
	var err error
	if a.input, err = logrow.PackMessages(r.Input); err != nil {
		return nil, fault(op, err)
	}
	a.first = a.input
	if len(r.Past) > 0 {
		if a.first, err = logrow.PackMessages(slices.Concat(r.Past, r.Input)); err != nil {
			return nil, fault(op, err)
		}
	}
	if len(r.Metadata) > 0 {
		for k, v := range r.Metadata {
			if err := names(op, k, v); err != nil {
				return nil, err
			}
		}
		if a.metadata, err = json.Marshal(r.Metadata); err != nil {
			return nil, invalid(op, "the labels cannot be written as JSON", "")
		}
	}
	return a, nil
}

// Admit implements [journal.Store].
func (s *Store) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	const op = "journal admit"
	if err := alive(ctx, op); err != nil {
		return journal.Run{}, err
	}
	a, err := newAdmission(op, r)
	if err != nil {
		return journal.Run{}, err
	}
	var row runRow
	var p *place
	err = s.write(ctx, op, false, func(x *tx) (err error) {
		row, p, err = s.admit(x, a)
		return err
	})
	if err != nil {
		return journal.Run{}, err
	}
	if p == nil || len(r.Past) > 0 {
		return row.read(op)
	}
	row.input = nil // the run keeps the input that it was given
	run, err := row.read(op)
	run.Input = r.Input
	return run, err
}

// place is the state of a conversation that taking a run needs.
type place struct {
	key        int64
	turns      int
	ended      int
	last       int64
	epoch      int64
	until      sql.NullInt64
	generation int64
	steps      []byte
}

const placeColumns = `key, turns, ended, last, epoch, until, generation, steps`

// into returns the destinations of placeColumns.
func (p *place) into() []any {
	return []any{&p.key, &p.turns, &p.ended, &p.last, &p.epoch, &p.until, &p.generation, &p.steps}
}

const (
	// nextRun is the key of the next run.
	nextRun = `(SELECT ifnull(max(key), 0) + 1 FROM run)`

	// takeTurn finds the conversation and takes the next turn in one statement, which is enough
	// for nearly every admission. It finds nothing if the run must be alone and is not, or
	// follows a run that is not the newest.
	takeTurn = `UPDATE conversation SET turns = turns + 1, newest = ` + nextRun + `, bytes = bytes + iif(turns = 0, ?5, ?6)
		WHERE id = ?1 AND tenant = ?2 AND (turns = ended OR NOT ?3) AND ?4 IN (0, turns) RETURNING ` + placeColumns

	giveTurnBack = `UPDATE conversation SET turns = turns - 1, bytes = bytes - iif(turns = 1, ?2, ?3),
		newest = (SELECT r.key FROM run r WHERE r.conversation = conversation.key ORDER BY r.turn DESC LIMIT 1) WHERE key = ?1`

	insertConversation = `INSERT INTO conversation (id, tenant, turns, generation, bytes, newest)
		VALUES (?, ?, 1, ?, ?, ` + nextRun + `) ON CONFLICT DO NOTHING`

	selectConversation = `SELECT key, turns > ended FROM conversation WHERE id = ? AND tenant = ?`

	insertRun = `INSERT INTO run (id, conversation, turn, tenant, user, agent, input, idem, executor, metadata,
		new_session, status, admitted, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`

	selectRun = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	selectRunByKey = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation
		WHERE r.conversation = ? AND r.idem = ? AND r.idem <> '' AND r.tenant = ?`
)

// admit writes the run, or finds the existing one. It returns the place of a run that it has
// written.
func (s *Store) admit(x *tx, a *admission) (runRow, *place, error) {
	r := &a.run
	if r.Incarnation != "" {
		removed, err := x.row(selectTombstone, []any{r.Tenant, r.Conversation, r.Incarnation}, new(int))
		if err == nil && removed {
			err = notFound(a.op, "there is no such conversation any more")
		}
		if err != nil {
			return runRow{}, nil, err
		}
	}
	var p place
	there, err := x.change(takeTurn, []any{r.Conversation, r.Tenant, r.Alone, r.Follows, len(a.first), len(a.input)}, p.into()...)
	if err != nil {
		return runRow{}, nil, err
	}
	if !there {
		p = place{turns: 1, generation: s.generation}
		if p.key, err = x.insert(insertConversation, r.Conversation, r.Tenant, s.generation, len(a.first)); err != nil {
			return runRow{}, nil, err
		}
		if p.key == 0 {
			row, err := a.busy(x)
			return row, nil, err
		}
		if r.Follows > 0 { // in a new conversation, which is rolled back
			row, known, err := a.known(x, p.key)
			if err == nil && !known {
				err = passed(a.op)
			}
			return row, nil, err
		}
	}
	row := runRow{run: *r, input: a.input, metadata: a.metadata, admitted: x.now.UnixMicro()}
	if p.turns == 1 {
		row.input = a.first
	}
	if r.Since > 0 {
		begun, err := x.row(selectBegun, []any{p.key, r.Since}, new(int))
		if err != nil {
			return runRow{}, nil, err
		}
		row.run.NewSession = !begun
	}
	row.run.Input, row.run.Metadata, row.run.Past = nil, nil, nil
	row.run.Turn, row.run.Session, row.run.First, row.run.Since = p.turns, 0, 0, 0
	row.run.Incarnation, row.run.Lost = "", 0
	row.run.Status = a.status
	row.run.Cancelled, row.run.Alone, row.run.Follows = false, false, 0
	row.run.WakeAt = time.Time{}
	row.key, err = x.insert(insertRun, r.ID, p.key, p.turns, r.Tenant, r.User, r.Agent, bytesOrNull(row.input), r.Key,
		r.Executor, text(a.metadata), row.run.NewSession, a.status, row.admitted)
	if err != nil || row.key != 0 {
		return row, &p, err
	}

	// A run with this id exists, or one with this key in the conversation. If the conversation
	// is new, the run is in another one: known refuses that, and the transaction is rolled back.
	if there {
		if _, err := x.exec(giveTurnBack, p.key, len(a.first), len(a.input)); err != nil {
			return runRow{}, nil, err
		}
	}
	row, known, err := a.known(x, p.key)
	if err == nil && !known {
		err = damaged(a.op, "a run is there and cannot be found", nil)
	}
	return row, nil, err
}

// busy returns the result for a run whose conversation belongs to another tenant, is not free for
// a run that must be alone, or has a newer run than the one to follow.
func (a *admission) busy(x *tx) (runRow, error) {
	var conversation int64
	var open bool
	there, err := x.row(selectConversation, []any{a.run.Conversation, a.run.Tenant}, &conversation, &open)
	if err != nil {
		return runRow{}, err
	}
	if !there {
		return runRow{}, notFound(a.op, "there is no such conversation")
	}
	row, known, err := a.known(x, conversation)
	switch {
	case err != nil || known:
	case a.run.Alone && open:
		err = &event.Error{
			Op: a.op, Kind: event.ErrLocked, Message: "another run of the conversation has not ended",
			Hint: "wait for it, cancel it, or queue behind it",
		}
	default:
		err = passed(a.op)
	}
	return row, err
}

// passed refuses a run that follows a run that is not the newest.
func passed(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: journal.CodePassed, Message: "the run to follow is not the conversation's newest",
		Hint: "read the conversation again",
	}
}

// known finds the run that was admitted with this id or key. It is an error if that run differs
// from the requested one.
func (a *admission) known(x *tx, conversation int64) (row runRow, known bool, err error) {
	r := &a.run
	known, err = x.row(selectRun, []any{r.ID}, row.into()...)
	if err == nil && !known {
		known, err = x.row(selectRunByKey, []any{conversation, r.Key, r.Tenant}, row.into()...)
	}
	switch {
	case err != nil || !known:
		return runRow{}, false, err
	case row.run.Tenant != r.Tenant:
		return runRow{}, true, notFound(a.op, "there is no such run")
	case !a.asksFor(&row):
		return runRow{}, true, &event.Error{
			Op: a.op, Kind: event.ErrConflict,
			Message: "a run with this id or key was admitted with another input",
			Hint:    "use a new id and a new key for a new request",
		}
	}
	return row, true, nil
}

// asksFor compares the input of two admissions as [journal.Store].Admit says. It compares
// messages by their encoding.
func (a *admission) asksFor(row *runRow) bool {
	r := &a.run
	return row.run.Conversation == r.Conversation && row.run.User == r.User && row.run.Agent == r.Agent &&
		row.run.Key == r.Key && (r.Since > 0 || row.run.NewSession == r.NewSession) &&
		(logrow.Same(row.input, a.input) || row.run.Turn == 1 && logrow.Same(row.input, a.first))
}
