package serve

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/directory"
)

const (
	// forgetEvery is how often a server checks whether the directory has changed.
	forgetEvery = 2 * time.Second
	// sweepEvery is how often it looks for conversations that another server deleted.
	sweepEvery = time.Minute
)

// forgetGone drops the cached data of tenants, models and conversations that no longer exist: of
// tenants and models soon after the directory has changed in any process, of conversations every
// minute. end stops it and waits for it.
func (s *Server) forgetGone(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		seen, swept, place := int64(-1), time.Time{}, ""
		for {
			now, err := s.forgetChanged(ctx, seen)
			if err == nil {
				seen, err = now, s.service.ScrubSoon(ctx)
			}
			if err == nil && time.Since(swept) >= sweepEvery {
				if place, err = s.forgetDeleted(ctx, place); err == nil {
					swept = time.Now()
				}
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("cached data of deleted objects could not all be removed", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		stop()
		<-done
	}
}

// forgetChanged drops the cached data of tenants and models that no longer exist if the directory
// has changed since the generation seen. It returns the current generation.
func (s *Server) forgetChanged(ctx context.Context, seen int64) (now int64, err error) {
	if s.people == nil {
		return seen, nil
	}
	if now, err = s.people.Generation(ctx); err != nil || now == seen {
		return seen, err
	}
	if s.options.Agents != nil {
		err = s.options.Agents.ForgetGone(ctx, s.people)
	}
	if err == nil && s.options.Forget != nil {
		err = s.options.Forget(ctx, s.people)
	}
	if err := errors.Join(err, s.service.ForgetErased(ctx), forgetMetrics(ctx, s.metrics, s.people)); err != nil {
		return seen, err
	}
	s.people.Drop()
	s.service.Deleted()
	return now, nil
}

// forgetMetrics removes the metrics of tenants that no longer exist.
func forgetMetrics(ctx context.Context, metrics *server.Metrics, people *directory.Directory) error {
	gone := make(map[string]bool)
	for id, life := range metrics.Tenants() {
		t, err := people.GetTenant(ctx, id)
		if err != nil && !errors.Is(err, event.ErrNotFound) {
			return err
		}
		gone[id] = err != nil || life != "" && life != t.Life
	}
	metrics.ForgetTenants(func(id, _ string) bool { return gone[id] })
	return nil
}

// forgetDeleted removes the folds and files of conversations that another server deleted, from the
// place after on. It returns the place to continue from.
func (s *Server) forgetDeleted(ctx context.Context, after string) (next string, err error) {
	if err := s.service.ForgetDeleted(ctx); err != nil || s.options.Agents == nil {
		return after, err
	}
	return s.options.Agents.SweepFiles(ctx, after, s.service.Lives)
}
