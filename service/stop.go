package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	// StopLook is how often a process checks whether the tenants whose runs it drives are still
	// active.
	StopLook = time.Second
	// stopAll is after how many checks it looks at the open runs of all tenants. No process drives
	// a run that waits for an answer.
	stopAll = 30
)

// stops cancels the runs of inactive tenants.
type stops struct {
	end  context.CancelFunc
	work sync.WaitGroup
}

// begin starts the checks. It uses only the values of ctx.
func (t *stops) begin(ctx context.Context, s *Service) {
	if s.options.Directory == nil {
		return
	}
	ctx, t.end = context.WithCancel(context.WithoutCancel(ctx))
	t.work.Go(func() {
		tick := time.NewTicker(StopLook)
		defer tick.Stop()
		for n := 0; ; n++ {
			if err := s.stopInactive(ctx, n%stopAll == 0); err != nil && ctx.Err() == nil {
				s.log.Warn("the runs of inactive tenants could not all be cancelled", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// stop ends the checks.
func (t *stops) stop() {
	if t.end != nil {
		t.end()
		t.work.Wait()
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
