package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
)

// StopTenant cancels all open runs of an inactive tenant, in every process, and returns how many. A
// process that missed the request does the same within about [StopLook].
func (s *Service) StopTenant(ctx context.Context, by directory.By, tenant string) (int, error) {
	n, err := s.stopTenant(ctx, tenant)
	if n > 0 && s.options.Directory != nil {
		err = errors.Join(err, s.options.Directory.Record(ctx, by, tenant, "runs.cancel", "tenant/"+tenant, map[string]int{"runs": n}))
	}
	return n, err
}

func (s *Service) stopTenant(ctx context.Context, tenant string) (n int, err error) {
	if tenant == "" {
		return 0, nil
	}
	q := journal.RunQuery{Tenant: tenant, Status: OpenRuns()}
	for {
		page, err := s.options.Journal.FindRuns(ctx, q)
		if err != nil {
			return n, err
		}
		for i := range page.Runs {
			if page.Runs[i].Cancelled {
				continue
			}
			err := s.engine.Cancel(ctx, page.Runs[i], byOperator)
			switch {
			case err == nil:
				n++
			case !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound): // the run has ended
				return n, err
			}
		}
		if q.Before = page.Next; page.Next == 0 {
			return n, nil
		}
	}
}

// stopInactive cancels the open runs of inactive tenants. everywhere looks at the runs of all
// tenants, not only at those that this process drives or queues.
func (s *Service) stopInactive(ctx context.Context, everywhere bool) error {
	tenants := make(map[string]bool)
	for name := range s.engine.Tenants() {
		tenants[name] = true
	}
	if everywhere {
		if err := s.openTenants(ctx, tenants); err != nil {
			return err
		}
	}
	var errs []error
	for name := range tenants {
		if _, err := s.options.Directory.Tenant(ctx, name); errors.Is(err, event.ErrPermission) {
			n, err := s.stopTenant(ctx, name)
			if n > 0 {
				s.log.Info("the runs of a tenant that is not active were cancelled", "tenant", name, "runs", n)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openTenants adds the tenants that have open runs.
func (s *Service) openTenants(ctx context.Context, tenants map[string]bool) error {
	q := journal.RunQuery{Status: OpenRuns()}
	for {
		page, err := s.options.Journal.FindRuns(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			tenants[page.Runs[i].Tenant] = true
		}
		if q.Before = page.Next; page.Next == 0 {
			return nil
		}
	}
}
