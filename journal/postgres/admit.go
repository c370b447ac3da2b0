package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/internal/pg"
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
}

func newAdmission(op string, r journal.Run) (*admission, error) {
	if r.ID == "" || r.Conversation == "" {
		return nil, noID(op, "a run and its conversation need an id")
	}
	if err := names(op, r.ID, r.Conversation, r.Tenant, r.User, r.Agent, r.Key, r.Executor, r.Incarnation); err != nil {
		return nil, err
	}
	a := &admission{op: op, run: r}
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
	row, _, err := s.admit(ctx, a, func(x *tx, row *runRow, _ *place) error { return x.commit(row.insert(a)) })
	if err != nil {
		return journal.Run{}, err
	}
	return row.read(op)
}

// place is the state of a conversation that taking a run needs.
type place struct {
	key    int64
	turns  int
	ended  int
	last   int64
	epoch  int64
	until  *int64
	newest int64
	steps  []byte
	// now is the store's clock once the conversation is locked.
	now int64
}

const placeColumns = `c.key, c.turns, c.ended, c.last, c.epoch, c.until, c.newest, c.steps, store_clock()`

// into returns the destinations of placeColumns.
func (p *place) into() []any {
	return []any{&p.key, &p.turns, &p.ended, &p.last, &p.epoch, &p.until, &p.newest, &p.steps, &p.now}
}

const (
	// takeTurn finds and locks the conversation and takes the next turn in one statement, which
	// is enough for nearly every admission. It finds nothing if the run must be alone and is
	// not, or follows a run that is not the newest.
	takeTurn = `UPDATE conversation c SET turns = turns + 1, newest = nextval('run_key'),
			bytes = bytes + CASE WHEN turns = 0 THEN $5::bigint ELSE $6 END, counted = counted
		WHERE id = $1 AND (turns = ended OR NOT $2::boolean) AND $4::bigint IN (0, turns)
			AND NOT EXISTS (` + whereTombstone + ` b.tenant = c.tenant AND b.conversation = c.id AND b.life = $3)
		RETURNING ` + placeColumns

	whereTombstone  = `SELECT 1 FROM buried b WHERE`
	selectTombstone = whereTombstone + ` b.tenant = $1 AND b.conversation = $2 AND b.life = $3`

	insertConversation = `INSERT INTO conversation AS c (id, tenant, turns, newest, bytes) VALUES ($1, $2, 1, nextval('run_key'), $3)
		ON CONFLICT (id) DO NOTHING RETURNING ` + placeColumns

	insertRun = `INSERT INTO run (key, id, conversation, tenant, turn, person, agent, input, idem, executor, metadata,
		new_session, status, admitted, due) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'queued', $13, 0)`

	selectRun = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = $1`

	selectRunByKey = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation
		WHERE c.id = $1 AND r.idem = $2 AND r.idem <> ''`

	selectHolders = `SELECT tenant_of_run($1) IS NOT NULL, tenant_of_conversation($2) IS NOT NULL`
)

// insert returns the statement that writes the run.
func (r *runRow) insert(a *admission) question {
	return do(insertRun, r.key, a.run.ID, r.place, a.run.Tenant, r.run.Turn, a.run.User, a.run.Agent, r.input,
		a.run.Key, a.run.Executor, a.metadata, r.run.NewSession, r.admitted)
}

// admit takes a turn and lets then write the run, or finds the existing run. known reports that
// it found one.
func (s *Store) admit(ctx context.Context, a *admission, then func(*tx, *runRow, *place) error) (row runRow, known bool, err error) {
	for range attempts {
		taken := false
		err = s.transact(ctx, a.op, ofTenant(a.run.Tenant), func(x *tx) error {
			var p place
			taken = false
			take := func() question {
				return ask(takeTurn, []any{
					a.run.Conversation, a.run.Alone, a.run.Incarnation, a.run.Follows, len(a.first), len(a.input),
				}, &taken, p.into()...)
			}
			if err := x.begin(beginWrite, take()); err != nil {
				return err
			}
			if !taken {
				// It may have been removed while this transaction waited for it.
				var removed bool
				questions := []question{a.hasTombstone(&removed)}
				if a.run.Follows == 0 {
					insert := ask(insertConversation, []any{a.run.Conversation, a.run.Tenant, len(a.first)}, &taken, p.into()...)
					questions = []question{insert, questions[0]}
				}
				if err := x.more(questions...); err != nil {
					return err
				}
				if removed {
					return isRemoved(a.op)
				}
			}
			if !taken { // another transaction may have just created it
				if err := x.more(take()); err != nil || !taken {
					return err
				}
			}
			row = newRow(a, &p)
			if since := a.run.Since; since > 0 {
				var begun bool
				if err := x.more(ask(selectBegun, []any{p.key, since}, &begun)); err != nil {
					return err
				}
				row.run.NewSession = !begun
			}
			return then(x, &row, &p)
		})
		if err == nil && taken || err != nil && pg.Code(err) != pg.Unique {
			return row, false, err
		}
		// A run with this id exists, or one with this key in the conversation. Or the
		// conversation belongs to another tenant, is not free for a run that must be alone, or
		// has a newer run than the one to follow.
		row, known, err = s.known(ctx, a, taken)
		if known || err != nil {
			return row, known, err
		}
	}
	return runRow{}, false, fault(a.op, errUnsettled)
}

var errUnsettled = errors.New("a run came and went while it was admitted")

// hasTombstone asks whether the run's conversation has a tombstone.
func (a *admission) hasTombstone(there *bool) question {
	return ask(selectTombstone, []any{a.run.Tenant, a.run.Conversation, a.run.Incarnation}, there)
}

func isRemoved(op string) error { return notFound(op, "there is no such conversation any more") }

// newRow returns the row of a run that takes the place's newest turn.
func newRow(a *admission, p *place) runRow {
	row := runRow{key: p.newest, run: a.run, input: a.input, metadata: a.metadata, admitted: p.now, place: p.key}
	if p.turns == 1 {
		row.input = a.first
	}
	row.run.Input, row.run.Metadata, row.run.Past = nil, nil, nil
	row.run.Turn, row.run.Session, row.run.First, row.run.Since = p.turns, 0, 0, 0
	row.run.Incarnation, row.run.Lost = "", 0
	row.run.Status = event.RunQueued
	row.run.Cancelled, row.run.Alone, row.run.Follows = false, false, 0
	row.run.WakeAt = time.Time{}
	return row
}

// known finds the run that was admitted with this id or key. It is an error if that run differs
// from the requested one. taken reports that the conversation had a turn for the run.
func (s *Store) known(ctx context.Context, a *admission, taken bool) (row runRow, known bool, err error) {
	r := &a.run
	var byID, byKey, talk, some, elsewhere, conversation, removed bool
	var other runRow
	var turns, ended int
	err = s.look(ctx, a.op, ofTenant(r.Tenant),
		ask(selectRun, []any{r.ID}, &byID, row.into()...),
		ask(selectRunByKey, []any{r.Conversation, r.Key}, &byKey, other.into()...),
		ask(`SELECT turns, ended FROM conversation WHERE id = $1`, []any{r.Conversation}, &talk, &turns, &ended),
		ask(selectHolders, []any{r.ID, r.Conversation}, &some, &elsewhere, &conversation),
		a.hasTombstone(&removed),
	)
	if !byID {
		row = other
	}
	switch {
	case err != nil:
		return runRow{}, false, err
	case removed:
		return runRow{}, true, isRemoved(a.op)
	case (byID || byKey) && !a.asksFor(&row):
		return runRow{}, true, &event.Error{
			Op: a.op, Kind: event.ErrConflict,
			Message: "a run with this id or key was admitted with another input",
			Hint:    "use a new id and a new key for a new request",
		}
	case byID || byKey:
		return row, true, nil
	case conversation && !talk:
		return runRow{}, true, notFound(a.op, "there is no such conversation")
	case elsewhere:
		return runRow{}, true, notFound(a.op, "there is no such run")
	case !taken && r.Alone && talk && turns > ended:
		return runRow{}, true, &event.Error{
			Op: a.op, Kind: event.ErrLocked, Message: "another run of the conversation has not ended",
			Hint: "wait for it, cancel it, or queue behind it",
		}
	case !taken && r.Follows > 0 && turns != r.Follows:
		return runRow{}, true, &event.Error{
			Op: a.op, Kind: event.ErrConflict, Code: journal.CodePassed, Message: "the run to follow is not the conversation's newest",
			Hint: "read the conversation again",
		}
	}
	return runRow{}, false, nil // the conflicting run is gone
}

// asksFor compares the input of two admissions as [journal.Store].Admit says. It compares
// messages by their encoding.
func (a *admission) asksFor(row *runRow) bool {
	r := &a.run
	return row.run.Conversation == r.Conversation && row.run.User == r.User && row.run.Agent == r.Agent &&
		row.run.Key == r.Key && (r.Since > 0 || row.run.NewSession == r.NewSession) &&
		(logrow.Same(row.input, a.input) || row.run.Turn == 1 && logrow.Same(row.input, a.first))
}
