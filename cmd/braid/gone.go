package main

import (
	"context"
	"errors"
	"log/slog"
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
func (h *house) forgetGone(ctx context.Context, log *slog.Logger) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		seen, swept, place := int64(-1), time.Time{}, ""
		for {
			now, err := h.people.Generation(ctx)
			if err == nil && now != seen {
				err = errors.Join(h.agents.forgetGone(ctx, h.people), h.service.ForgetErased(ctx), forgetMetrics(ctx, h.metrics, h.people))
				if err == nil {
					seen = now
					h.people.Drop()
					h.service.Deleted()
				}
			}
			if err == nil {
				err = h.service.ScrubSoon(ctx)
			}
			if err == nil && time.Since(swept) >= sweepEvery {
				if place, err = h.forgetDeleted(ctx, place); err == nil {
					swept = time.Now()
				}
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("what is kept of what was deleted could not all be removed", "error", err)
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
// folds in memory, and their files, from the folder behind after on. It returns the folder to go on from.
func (h *house) forgetDeleted(ctx context.Context, after string) (next string, err error) {
	if err := h.service.ForgetDeleted(ctx); err != nil {
		return after, err
	}
	return h.agents.SweepFiles(ctx, after, h.service.Lives)
}
