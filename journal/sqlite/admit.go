package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// admission is a run that is to be admitted, with its JSON written already.
type admission struct {
	op       string
	run      journal.Run
	input    []byte
	metadata []byte
}

func newAdmission(op string, r journal.Run) (*admission, error) {
	if r.ID == "" || r.Conversation == "" {
		return nil, noID(op, "a run and its conversation need an id")
	}
	if err := names(op, r.ID, r.Conversation, r.Tenant, r.User, r.Agent, r.Key, r.Executor); err != nil {
		return nil, err
	}
	a := &admission{op: op, run: r}
	var err error
	if a.input, err = packMessages(r.Input); err != nil {
		return nil, fault(op, err)
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
	err = s.write(ctx, op, false, func(x *tx) (err error) {
		row, err = a.admit(x)
		return err
	})
	if err != nil {
		return journal.Run{}, err
	}
	return row.read(op)
}

const (
	selectRun = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = ?`

	selectRunByKey = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation
		WHERE r.conversation = ? AND r.idem = ? AND r.idem <> '' AND r.tenant = ?`

	selectConversation = `SELECT key, tenant, turns FROM conversation WHERE id = ?`

	insertConversation = `INSERT INTO conversation (id, tenant, turns) VALUES (?, ?, 1)`

	addTurn = `UPDATE conversation SET turns = turns + 1 WHERE key = ? AND tenant = ?`

	insertRun = `INSERT INTO run (id, conversation, turn, tenant, user, agent, input, idem, executor, metadata,
		new_session, status, admitted, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, 0)`
)

// admit writes the run, or finds the one that it is.
func (a *admission) admit(x *tx) (runRow, error) {
	r := &a.run
	var conversation int64
	var tenant string
	var turns int
	there, err := x.row(selectConversation, []any{r.Conversation}, &conversation, &tenant, &turns)
	if err != nil {
		return runRow{}, err
	}
	if there && tenant != r.Tenant {
		return runRow{}, notFound(a.op, "there is no such conversation")
	}
	var row runRow
	known, err := x.row(selectRun, []any{r.ID}, row.into()...)
	if err != nil {
		return runRow{}, err
	}
	if known && row.run.Tenant != r.Tenant {
		return runRow{}, notFound(a.op, "there is no such run")
	}
	if !known && there && r.Key != "" {
		if known, err = x.row(selectRunByKey, []any{conversation, r.Key, r.Tenant}, row.into()...); err != nil {
			return runRow{}, err
		}
	}
	if known {
		if !a.asksFor(&row) {
			return runRow{}, &event.Error{
				Op: a.op, Kind: event.ErrConflict,
				Message: "a run with this id or key was admitted with another input",
				Hint:    "use a new id and a new key for a new request",
			}
		}
		return row, nil
	}

	if there {
		_, err = x.exec(addTurn, conversation, r.Tenant)
	} else {
		conversation, err = x.insert(insertConversation, r.Conversation, r.Tenant)
	}
	if err != nil {
		return runRow{}, err
	}
	row = runRow{run: *r, input: a.input, metadata: a.metadata, admitted: x.now.UnixMicro()}
	row.run.Input, row.run.Metadata = nil, nil
	row.run.Turn = turns + 1
	row.run.Status = event.RunQueued
	row.run.Cancelled = false
	row.run.WakeAt = time.Time{}
	row.key, err = x.insert(insertRun, r.ID, conversation, row.run.Turn, r.Tenant, r.User, r.Agent, blob(a.input), r.Key,
		r.Executor, text(a.metadata), r.NewSession, row.admitted)
	return row, err
}

// asksFor compares what two admissions ask for, as [journal.Store] Admit says.
// Messages that are written alike are alike.
func (a *admission) asksFor(row *runRow) bool {
	r := &a.run
	return row.run.Conversation == r.Conversation && row.run.User == r.User && row.run.Agent == r.Agent &&
		row.run.Key == r.Key && row.run.NewSession == r.NewSession && bytes.Equal(row.input, a.input)
}
