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
	// forgetEvery is how often a server looks whether the directory was changed.
	forgetEvery = 2 * time.Second
	// sweepEvery is how often it looks for conversations that were deleted elsewhere.
	sweepEvery = time.Minute
)

// forgetGone drops what this server keeps of tenants, models and conversations that are there no longer: soon
// after the directory was changed, by whichever server, and every minute for conversations. end has it stop,
// and returns when it has.
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
				s.log.Warn("what is kept of what was deleted could not all be removed", "error", err)
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

// forgetChanged drops what is kept of tenants and models that are there no longer, if the directory was changed since the
// generation seen. It returns the generation of now.
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

// forgetMetrics removes the metrics of tenants that are there no longer.
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

// forgetDeleted removes from this server what is kept of conversations that another one has deleted: their
// folds in memory, and their files, from the place after on. It returns the place to go on from.
func (s *Server) forgetDeleted(ctx context.Context, after string) (next string, err error) {
	if err := s.service.ForgetDeleted(ctx); err != nil || s.options.Agents == nil {
		return after, err
	}
	return s.options.Agents.SweepFiles(ctx, after, s.service.Lives)
}
