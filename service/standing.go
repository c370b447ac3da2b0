package service

import (
	"context"
	"errors"
	"strconv"

	"github.com/braidrun/braid/event"
	cursors "github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/journal"
)

// This file lists conversations by how they stand. The journal knows that and the service's database does not, so the
// list follows the journal's runs, of which it looks at few.

// mostLooked bounds how many runs one page looks at. A page may then have fewer conversations than the limit.
const mostLooked = 300

// standings are the statuses of runs that a conversation with the status has. The status of a conversation is that of its
// oldest open run, else that of its newest run.
func standings(op, status string) ([]event.RunStatus, error) {
	q := RunQuery{Status: status}
	list, err := q.statuses(op)
	if err != nil {
		return nil, invalid(op, "conversations have no such status", "send open, queued, running, waiting, completed, failed or cancelled")
	}
	return list, nil
}

// listStanding is [Service.ListConversations] for a page with a status. The conversation whose run was admitted last
// comes first.
func (s *Service) listStanding(ctx context.Context, op string, p Principal, page Page, q Query) (list []Row, next string, err error) {
	states, err := standings(op, page.Status)
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
		// Never more than the page has room for, so that the journal's place is that of the page.
		asked.Limit = page.Limit - len(list)
		found, err := s.options.Journal.FindRuns(ctx, asked)
		if err != nil {
			return nil, "", err
		}
		for i := range found.Runs {
			row, fits, err := s.stands(ctx, &found.Runs[i], q)
			if err != nil {
				return nil, "", err
			}
			if fits {
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

// stands finds the conversation that a run gives its status. fits is false where the conversation stands otherwise, where
// another of its runs is the one that counts, and where q does not want it.
func (s *Service) stands(ctx context.Context, run *journal.Run, q Query) (row Row, fits bool, err error) {
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
