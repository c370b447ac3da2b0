package service

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Expire removes the conversations whose retention period has ended at the time now, with their
// logs and files, and returns how many. The period begins when a conversation was last changed or
// its last run accepted. A conversation with an open run stays.
//
// Each tenant's audit records the number. A later request for such a conversation gets
// [event.ErrGone]. After an error Expire can be repeated, and several processes may call it at
// once.
func (s *Service) Expire(ctx context.Context, now time.Time) (removed int, err error) {
	if s.options.Directory == nil {
		return 0, nil
	}
	expiries, err := s.options.Directory.Expiries(ctx, now)
	if err != nil {
		return 0, err
	}
	for _, e := range expiries {
		n, err := s.expireTenant(ctx, e)
		removed += n
		if n > 0 {
			err = errors.Join(err, s.options.Directory.Record(context.WithoutCancel(ctx), directory.By{}, e.Tenant, "retention.expire",
				"tenant/"+e.Tenant, map[string]any{"conversations": n, "before": e.Conversations}))
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Service) expireTenant(ctx context.Context, e directory.Expiry) (removed int, err error) {
	for _, archived := range []bool{false, true} {
		q := Query{Archived: archived, Unchanged: e.Conversations, Limit: MostPage}
		for {
			rows, err := s.options.Rows.List(ctx, e.Tenant, q)
			if err != nil {
				return removed, err
			}
			for i := range rows {
				gone, err := s.expireConversation(ctx, e, rows[i].ID)
				if err != nil {
					return removed, err
				}
				if gone {
					removed++
				}
			}
			if len(rows) < MostPage {
				break
			}
			last := rows[len(rows)-1]
			q.Updated, q.ID = last.Updated, last.ID
		}
	}
	return removed, nil
}

// expireConversation removes a conversation unless it is in use.
func (s *Service) expireConversation(ctx context.Context, e directory.Expiry, id string) (gone bool, err error) {
	last, err := s.lastRun(ctx, id)
	if err != nil || last.After(e.Conversations) {
		return false, err
	}
	err = s.remove(ctx, Principal{Tenant: e.Tenant}, id, func(ctx context.Context, tenant, id string, made time.Time) error {
		return s.options.Rows.Expire(ctx, tenant, id, made, time.Now())
	})
	if errors.Is(err, event.ErrLocked) || errors.Is(err, event.ErrNotFound) { // a run is open, or another process was faster
		return false, nil
	}
	return err == nil, err
}

// lastRun returns when a conversation's newest run was accepted. It returns the zero time if there
// is none.
func (s *Service) lastRun(ctx context.Context, id string) (time.Time, error) {
	place, err := s.options.Journal.Position(ctx, id, 0)
	if err != nil || place.Turns == 0 {
		return time.Time{}, err
	}
	runs, err := s.options.Journal.Runs(ctx, id, place.Turns-1, 1)
	if err != nil || len(runs) == 0 {
		return time.Time{}, err
	}
	return runs[0].Admitted, nil
}
