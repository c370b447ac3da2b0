package service

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// conversationLocks hold one mutex for each conversation in use, so that no run is admitted while
// its conversation is being deleted. The zero value is ready for use.
type conversationLocks struct {
	mu   sync.Mutex
	used map[string]*conversationLock
}

type conversationLock struct {
	mu sync.Mutex
	// users counts the holder and those who wait.
	users int
}

// lock waits for the conversation's mutex. The caller must call unlock.
func (d *conversationLocks) lock(conversation string) (unlock func()) {
	d.mu.Lock()
	if d.used == nil {
		d.used = make(map[string]*conversationLock)
	}
	in := d.used[conversation]
	if in == nil {
		in = &conversationLock{}
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

// admission is a run that is about to be admitted to its conversation.
type admission struct {
	// row is the conversation's row, read when the service's changes had the value below.
	row     Row
	changes int64
	// waited reports that the request waited, so that another process may have changed the row.
	waited bool
	// after is the Seq of an event from before the request.
	after int64
	// run is the run with its own input alone.
	run journal.Run
}

// submitLocked calls admit with the conversation locked and its row up to date. The journal decides
// which of several concurrent runs begins a requested session or gets a fork's history, also across
// processes. It also refuses the run if the conversation was deleted meanwhile.
func (s *Service) submitLocked(ctx context.Context, e *admission, admit func(run journal.Run) (journal.Run, error)) (journal.Run, error) {
	defer s.locks.lock(e.row.ID)()
	if n := s.changes.Load(); n != e.changes || e.waited {
		row, err := s.options.Rows.Get(ctx, e.row.Tenant, e.row.ID)
		if err != nil {
			return journal.Run{}, err
		}
		if row.life() != e.row.life() { // another conversation has this id now
			return journal.Run{}, notFound("start run", "conversation")
		}
		if e.row.Agent != "" && row.Agent == "" { // the request that pinned it was refused, but this run was built with it
			if row, err = s.change(ctx, row.Key(), func(row *Row) error {
				if row.Agent == "" {
					row.Agent, row.AgentVersion = e.row.Agent, e.row.AgentVersion
				}
				return nil
			}); err != nil {
				return journal.Run{}, err
			}
		}
		e.row, e.changes = row, n
	}
	if err := e.row.takesRuns("start run"); err != nil {
		return journal.Run{}, err
	}
	if err := s.settle(ctx, &e.row); err != nil {
		return journal.Run{}, err
	}
	e.run.Metadata[keyLife] = e.row.life()
	run := e.run
	run.Since, run.Past, run.Incarnation = e.row.Since, e.row.History, e.row.life()
	return admit(run)
}

// life distinguishes conversations that reuse one caller-chosen id.
func (r *Row) life() string { return strconv.FormatInt(r.Created.UnixMicro(), 36) }

// codeArchived is the Code of the error for a run in an archived conversation.
const codeArchived = "CONVERSATION_ARCHIVED"

func isArchived(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeArchived
}

// takesRuns returns an error if the conversation takes no more runs.
func (r *Row) takesRuns(op string) error {
	if !r.Archived {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "the conversation is archived", Hint: "unarchive it, or begin another conversation",
		Code: codeArchived,
	}
}
