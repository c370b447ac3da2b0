package sqlite

import (
	"database/sql"
	"encoding/json"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

const (
	// runColumns are the columns of a [runRow], from a run r and its conversation c.
	runColumns = runName + `r.input, ` + runRest

	// headColumns are those columns without the input.
	headColumns = runName + `NULL, ` + runRest

	runName = `r.key, r.id, c.id, r.tenant, r.user, r.agent, `
	runRest = `r.idem, r.executor, r.metadata, r.new_session, r.turn, r.status, r.wake, r.cancelled, r.admitted,
		ifnull(r.session, 0), ifnull(r.first, 0), r.lost, r.failure`
)

// runRow is a run's row. Its JSON is not decoded yet, so that this costs the writer nothing.
type runRow struct {
	key      int64
	run      journal.Run
	input    []byte
	metadata []byte
	wake     sql.NullInt64
	admitted int64
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
	if r.wake.Valid {
		run.WakeAt = fromMicros(r.wake.Int64)
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

// mailColumns are the columns of a [mailRow].
const mailColumns = `id, kind, token, value, sender, message, posted, early`

// mailRow is a row of mail.
type mailRow struct {
	mail    journal.Mail
	value   []byte
	message []byte
	posted  int64
}

func (m *mailRow) into() []any {
	return []any{&m.mail.ID, &m.mail.Kind, &m.mail.Token, &m.value, &m.mail.By, &m.message, &m.posted, &m.mail.Early}
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

// names refuses names that cannot be read back unchanged, because JSON holds UTF-8.
func names(op string, of ...string) error {
	for _, s := range of {
		if !utf8.ValidString(s) {
			return invalid(op, "a name or an id is not UTF-8", "send UTF-8")
		}
	}
	return nil
}

// text returns the value of a text column; NULL for an empty text.
func text(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return string(b)
}

// bytesOrNull returns the value of a bytes column; NULL for none.
func bytesOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
