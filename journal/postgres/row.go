package postgres

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

const (
	// runColumns are the columns of a [runRow], from a run r and its conversation c.
	runColumns = runName + `r.input, ` + runRest

	runName = `r.key, r.id, c.id, r.tenant, r.person, r.agent, `
	runRest = `r.idem, r.executor, r.metadata, r.new_session, r.turn, r.status, r.wake, r.cancelled, r.admitted,
		coalesce(r.session, 0), coalesce(r.first, 0), r.lost, r.failure`

	selectDue = `SELECT key, id, conversation, tenant, person, agent, NULL::bytea, idem, executor, metadata, new_session,
		turn, status, wake, cancelled, admitted, 0, 0, lost, '' FROM due_runs($1)`
)

// runRow is a run's row.
type runRow struct {
	key      int64
	run      journal.Run
	input    []byte
	metadata []byte
	wake     *int64
	admitted int64
	// place is the conversation's key, for a row to be written.
	place int64
}

// into returns the destinations of runColumns.
func (r *runRow) into() []any {
	return []any{
		&r.key, &r.run.ID, &r.run.Conversation, &r.run.Tenant, &r.run.User, &r.run.Agent, &r.input, &r.run.Key,
		&r.run.Executor, &r.metadata, &r.run.NewSession, &r.run.Turn, &r.run.Status, &r.wake, &r.run.Cancelled, &r.admitted,
		&r.run.Session, &r.run.First, &r.run.Lost, &r.run.Failure,
	}
}

// read decodes the run.
func (r *runRow) read(op string) (journal.Run, error) {
	run := r.run
	run.Admitted = fromMicros(r.admitted)
	if r.wake != nil {
		run.WakeAt = fromMicros(*r.wake)
	}
	var err error
	if run.Input, err = logrow.UnpackMessages(r.input); err != nil {
		return journal.Run{}, damaged(op, "a run's input cannot be read", err)
	}
	if len(r.metadata) > 0 {
		if err := json.Unmarshal(r.metadata, &run.Metadata); err != nil {
			return journal.Run{}, damaged(op, "a run's labels cannot be read", err)
		}
	}
	return run, nil
}

// runsInto collects rows of runs.
func runsInto(found *[]runRow) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var r runRow
		err := rows.Scan(r.into()...)
		*found = append(*found, r)
		return err
	}
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

// mailColumns are the columns of a [mailRow], from mail m.
const mailColumns = `m.id, m.kind, m.token, m.value, m.sender, m.message, m.posted, m.early`

// mailRow is a row of mail.
type mailRow struct {
	mail    journal.Mail
	value   []byte
	message []byte
	posted  int64
}

func (m *mailRow) read(op, run string) (journal.Mail, error) {
	mail := m.mail
	mail.Run, mail.Value, mail.Posted = run, m.value, fromMicros(m.posted)
	if len(m.message) > 0 {
		blocks, err := event.DecodeBlocks(m.message)
		if err != nil {
			return journal.Mail{}, damaged(op, "a letter cannot be read", err)
		}
		mail.Message = blocks
	}
	return mail, nil
}

// mailInto collects rows of mail.
func mailInto(found *[]mailRow) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var m mailRow
		err := rows.Scan(&m.mail.ID, &m.mail.Kind, &m.mail.Token, &m.value, &m.mail.By, &m.message, &m.posted, &m.mail.Early)
		*found = append(*found, m)
		return err
	}
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

// stateInto collects rows of name and value.
func stateInto(state *map[string]json.RawMessage) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var name, value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if *state == nil {
			*state = make(map[string]json.RawMessage)
		}
		(*state)[string(name)] = value
		return nil
	}
}

// names refuses names that cannot be read back unchanged: text is UTF-8 and has no zero
// characters in this database.
func names(op string, of ...string) error {
	for _, s := range of {
		switch {
		case !utf8.ValidString(s):
			return invalid(op, "a name or an id is not UTF-8", "send UTF-8")
		case !isText(s):
			return invalid(op, "a name or an id holds a zero character", "leave it out")
		}
	}
	return nil
}

// isText reports whether the database can store the text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// upTo returns a limit for a statement; 0 or less means all.
func upTo(limit int) any {
	if limit <= 0 {
		return nil
	}
	return int64(limit)
}

// fromMicros returns the time in a column.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// wakeMicros returns a wake-up time for a column, rounded up.
func wakeMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if time.UnixMicro(us).Before(t) {
		us++
	}
	return us
}
