package service

import (
	"context"
	"errors"
	"strconv"

	"github.com/braidrun/braid/event"
	cursors "github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/journal"
)

// This file lists conversations by status. The journal knows the status and the service's database
// does not, so the list follows the journal's runs. It looks at few of them.

// mostLooked bounds how many runs one page looks at. A page may therefore be shorter than the
// limit.
const mostLooked = 300

// runStatuses returns the statuses of runs that give a conversation the status. A conversation has
// the status of its oldest open run, or else of its newest run.
func runStatuses(op, status string) ([]event.RunStatus, error) {
	q := RunQuery{Status: status}
	list, err := q.statuses(op)
	if err != nil {
		return nil, invalid(op, "conversations have no such status", "send open, queued, running, waiting, completed, failed or cancelled")
	}
	return list, nil
}

// listByStatus is [Service.ListConversations] for a page with a status. The conversation whose run
// was admitted last comes first.
func (s *conversations) listByStatus(ctx context.Context, op string, p Principal, page Page, q Query) (list []Row, next string, err error) {
	states, err := runStatuses(op, page.Status)
	if err != nil {
		return nil, "", err
	}
	name := page.name(op, p, q.User) + " status " + page.Status
	asked := journal.RunQuery{Tenant: p.Tenant, Status: states, Limit: page.Limit}
	if page.Cursor != "" {
		place, ok := cursors.Decode(name, page.Cursor, 1)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		if asked.Before, err = strconv.ParseInt(place[0], 10, 64); err != nil || asked.Before < 1 {
			return nil, "", foreignCursor(op)
		}
	}
	for looked := 0; looked < mostLooked; {
		// Never more than the page has room for, so that the journal's cursor is the page's.
		asked.Limit = page.Limit - len(list)
		found, err := s.options.Journal.FindRuns(ctx, asked)
		if err != nil {
			return nil, "", err
		}
		for i := range found.Runs {
			row, ok, err := s.byRun(ctx, &found.Runs[i], q)
			if err != nil {
				return nil, "", err
			}
			if ok {
				list = append(list, row)
			}
		}
		looked += max(len(found.Runs), 1)
		if found.Next == 0 {
			return list, "", nil
		}
		if asked.Before = found.Next; len(list) >= page.Limit {
			break
		}
	}
	return list, cursors.Encode(name, strconv.FormatInt(asked.Before, 10)), nil
}

// byRun finds the conversation that a run gives its status. ok is false if another run of it
// decides its status, or if q does not select it.
func (s *conversations) byRun(ctx context.Context, run *journal.Run, q Query) (row Row, ok bool, err error) {
	user := ""
	if q.User != nil {
		user = *q.User
	}
	row, err = s.options.Rows.Find(ctx, run.Tenant, user, run.Conversation)
	if errors.Is(err, event.ErrNotFound) || errors.Is(err, event.ErrGone) {
		return Row{}, false, nil
	}
	if err != nil {
		return Row{}, false, err
	}
	if row.Archived != q.Archived || q.Agent != "" && row.Agent != q.Agent || q.User != nil && row.User != *q.User {
		return Row{}, false, nil
	}
	row.History = nil // as in every list
	open, err := s.queue(ctx, run.Conversation)
	switch {
	case err != nil:
		return Row{}, false, err
	case len(open) > 0:
		return row, open[0].ID == run.ID, nil
	case !run.Status.Ended():
		return Row{}, false, nil // it has ended since
	}
	at, err := s.place(ctx, run.Conversation, 0)
	return row, at.Turns == run.Turn, err
}
