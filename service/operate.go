package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	cursors "github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
)

// This file holds the operator's access to the runs of all tenants.

// OpenRuns returns the statuses of runs that have not ended.
func OpenRuns() []event.RunStatus {
	return []event.RunStatus{event.RunQueued, event.RunRunning, event.RunWaiting}
}

// RunQuery selects runs of all tenants. An empty field selects all.
type RunQuery struct {
	Tenant string
	// Status is a run's status, or "open" for runs that have not ended.
	Status string
	User   string
	Agent  string
	// Failure is the kind of the error that ended a failed run.
	Failure event.ErrorKind
	// Since selects runs that were admitted at this time or later.
	Since time.Time
	// Cursor is the next cursor of the previous page; empty means the first page. It is valid only
	// for the same query.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit int
}

// statuses returns the statuses that the query selects.
func (q *RunQuery) statuses(op string) ([]event.RunStatus, error) {
	known := []event.RunStatus{
		event.RunQueued, event.RunRunning, event.RunWaiting, event.RunCompleted, event.RunFailed, event.RunCancelled,
	}
	switch s := event.RunStatus(q.Status); {
	case q.Status == "":
		return nil, nil
	case q.Status == "open":
		return OpenRuns(), nil
	case slices.Contains(known, s):
		return []event.RunStatus{s}, nil
	}
	return nil, invalid(op, "runs have no such status", "send open, queued, running, waiting, completed, failed or cancelled")
}

// FindRuns lists runs of all tenants for the operator, newest first. next is the cursor of the next
// page; empty means that there is none. A page may be shorter than the limit although more follow.
func (s *Service) FindRuns(ctx context.Context, q RunQuery) (runs []journal.Run, next string, err error) {
	const op = "find runs"
	if q.Limit < 0 || q.Limit > MostPage {
		return nil, "", invalid(op, "the limit is out of bounds", "ask for 1 to "+strconv.Itoa(MostPage)+" at a time")
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	asked := journal.RunQuery{
		Tenant: q.Tenant, User: q.User, Agent: q.Agent, Failure: q.Failure, Since: q.Since, Limit: q.Limit,
	}
	if asked.Status, err = q.statuses(op); err != nil {
		return nil, "", err
	}
	parts := []string{op, q.Tenant, q.Status, q.User, q.Agent, string(q.Failure), stamp(q.Since)}
	for i, part := range parts {
		parts[i] = strconv.Quote(part)
	}
	list := strings.Join(parts, " ")
	if q.Cursor != "" {
		place, ok := cursors.Decode(list, q.Cursor, 1)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		if asked.Before, err = strconv.ParseInt(place[0], 10, 64); err != nil || asked.Before < 1 {
			return nil, "", foreignCursor(op)
		}
	}
	page, err := s.options.Journal.FindRuns(ctx, asked)
	if err != nil {
		return nil, "", err
	}
	if page.Next != 0 {
		next = cursors.Encode(list, strconv.FormatInt(page.Next, 10))
	}
	return page.Runs, next, nil
}

// FindRun returns a run of any tenant for the operator. It returns [event.ErrNotFound] if there is
// none.
func (s *Service) FindRun(ctx context.Context, run string) (journal.Run, error) {
	const op = "run"
	if err := checkID(op, "run", runPrefix, run); err != nil {
		return journal.Run{}, err
	}
	page, err := s.options.Journal.FindRuns(ctx, journal.RunQuery{ID: run, Limit: 1})
	if err != nil {
		return journal.Run{}, err
	}
	if len(page.Runs) == 0 {
		return journal.Run{}, notFound(op, "run")
	}
	return page.Runs[0], nil
}

// CancelAnyRun cancels a run of any tenant, whichever process drives it. It writes the tenant's
// audit first. It returns [event.ErrConflict] if the run has ended. A second request for the same
// run changes nothing.
func (s *Service) CancelAnyRun(ctx context.Context, by directory.By, run string) (journal.Run, error) {
	const op = "cancel"
	row, err := s.FindRun(ctx, run)
	if err != nil {
		return journal.Run{}, err
	}
	if row.Status.Ended() {
		return journal.Run{}, &event.Error{
			Op: op, Kind: event.ErrConflict, Message: "the run has ended", Hint: "list the open runs",
		}
	}
	if d := s.options.Directory; d != nil && !row.Cancelled {
		detail := map[string]string{"conversation": row.Conversation}
		if err := d.Record(ctx, by, row.Tenant, "run.cancel", "run/"+row.ID, detail); err != nil {
			return journal.Run{}, err
		}
	}
	return row, s.engine.Cancel(ctx, row, byOperator)
}

// byOperator is the user in a run that the operator cancelled.
const byOperator = "operator"
