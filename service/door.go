package service

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// doors let one at a time change what a conversation's next run begins with: two
// requests at once must not both begin the session that was asked for once, nor both
// bring a fork's history, and none may come into a conversation that is being deleted.
// The zero value is ready for use.
type doors struct {
	mu   sync.Mutex
	used map[string]*door
}

type door struct {
	mu sync.Mutex
	// users are those inside and those who wait.
	users int
}

// enter waits until nobody else is inside; leave must be called.
func (d *doors) enter(conversation string) (leave func()) {
	d.mu.Lock()
	if d.used == nil {
		d.used = make(map[string]*door)
	}
	in := d.used[conversation]
	if in == nil {
		in = &door{}
		d.used[conversation] = in
	}
	in.users++
	d.mu.Unlock()
	in.mu.Lock()
	return func() {
		in.mu.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		if in.users--; in.users == 0 {
			delete(d.used, conversation)
		}
	}
}

// entry is a run on its way into its conversation.
type entry struct {
	// row is the conversation's as it stood when changes was that of the service.
	row     Row
	changes int64
	// run is the run with its own input alone.
	run journal.Run
}

// pass brings a run in by admit, as the conversation stands now. The run that admit is
// given begins the session, or has the history, that no other run has.
func (s *Service) pass(ctx context.Context, e *entry, admit func(run journal.Run) (journal.Run, error)) (journal.Run, error) {
	defer s.doors.enter(e.row.ID)()
	if n := s.changes.Load(); n != e.changes {
		row, err := s.options.Rows.Get(ctx, e.row.Tenant, e.row.ID)
		if err != nil {
			return journal.Run{}, err
		}
		e.row, e.changes = row, n
	}
	if err := e.row.takesRuns("start run"); err != nil {
		return journal.Run{}, err
	}
	run := e.run
	run.NewSession = e.row.Fresh
	if len(e.row.History) > 0 {
		begun, err := s.begun(ctx, e.row.ID)
		if err != nil {
			return journal.Run{}, err
		}
		if !begun {
			run.Input = slices.Concat(e.row.History, run.Input)
		}
	}
	row, err := admit(run)
	if err != nil || !run.NewSession || row.ID != run.ID {
		return row, err
	}
	_, err = s.options.Rows.Change(ctx, e.row.Tenant, e.row.ID, func(row *Row) error {
		row.Fresh = false
		return nil
	})
	s.changes.Add(1)
	if err != nil { // the run is there: at worst the one after it begins a session, too
		s.log.Warn("a session that has begun could not be noted", "conversation", e.row.ID, "error", err)
	}
	return row, nil
}

// codeArchived is the Code of the error for a run in an archived conversation.
const codeArchived = "CONVERSATION_ARCHIVED"

func isArchived(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeArchived
}

// takesRuns says why a conversation takes no more runs; nil where it does.
func (r *Row) takesRuns(op string) error {
	if !r.Archived {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "the conversation is archived", Hint: "take it out of the archive, or begin another",
		Code: codeArchived,
	}
}
