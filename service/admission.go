package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

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
	// ready is the run's agent.
	ready *prepared
	// atOnce reports that the run may be driven before it is in the journal.
	atOnce bool
}

// submitLocked calls admit with the conversation locked and its row up to date. The journal decides
// which of several concurrent runs begins a requested session or gets a fork's history, also across
// processes. It also refuses the run if the conversation was deleted meanwhile.
func (s *conversations) submitLocked(ctx context.Context, e *admission, admit func(run journal.Run) (journal.Run, error)) (journal.Run, error) {
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

// repeats reports whether the conversation already has a run with this run's key.
func (in *admission) repeats(ctx context.Context, runs journal.Journal) (bool, error) {
	if in.run.Key == "" {
		return false, nil
	}
	const most = 512
	for after := 0; ; {
		page, err := runs.Runs(ctx, in.row.ID, after, most)
		if err != nil {
			return false, err
		}
		for i := range page {
			if page[i].Key == in.run.Key {
				return true, nil
			}
			after = page[i].Turn
		}
		if len(page) < most {
			return false, nil
		}
	}
}
