package service

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// doors keep runs out of a conversation that is being deleted. The zero value is ready for
// use.
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
	// waited says that time has gone by since: another process may have changed the row.
	waited bool
	// after is the Seq of an event that was there before anything was tried.
	after int64
	// run is the run with its own input alone.
	run journal.Run
}

// pass brings a run in by admit, as the conversation stands now. Which run begins the session
// that was asked for, and which one has a fork's history before its input, the journal
// decides with the turn that it gives: whoever else comes in at the same time, here or in
// another process, does not. The journal also decides whether the conversation was deleted meanwhile.
func (s *Service) pass(ctx context.Context, e *entry, admit func(run journal.Run) (journal.Run, error)) (journal.Run, error) {
	defer s.doors.enter(e.row.ID)()
	if n := s.changes.Load(); n != e.changes || e.waited {
		row, err := s.options.Rows.Get(ctx, e.row.Tenant, e.row.ID)
		if err != nil {
			return journal.Run{}, err
		}
		if row.life() != e.row.life() { // another one has its name by now
			return journal.Run{}, notFound("start run", "conversation")
		}
		if e.row.Agent != "" && row.Agent == "" { // who pinned it was refused, and this run is made with it
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
	run.Since, run.Past, run.Life = e.row.Since, e.row.History, e.row.life()
	return admit(run)
}

// life tells apart the conversations that have an id one after the other, as those have that callers name.
func (r *Row) life() string { return strconv.FormatInt(r.Created.UnixMicro(), 36) }

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
