package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/directory"
)

// forgetTenant removes what this server has of a tenant that is being erased, beside its conversations:
// what was allowed for always, and its open models with their keys and connections.
func (a *agents) forgetTenant(_ context.Context, t directory.Tenant) error {
	a.own.mu.Lock()
	for name := range a.own.open {
		if name.tenant == t.ID {
			delete(a.own.open, name)
		}
	}
	a.own.mu.Unlock()
	closeIdle()
	return grantsIn(a.cfg.Data).forgetTenants(func(id, _ string) bool { return id == t.ID })
}

// closeIdle closes the connections to providers that nobody uses now. A connection may remember the key
// that it was last used with.
func closeIdle() {
	if t, ok := http.DefaultTransport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

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

// forgetGone is one look.
func (a *agents) forgetGone(ctx context.Context, people *directory.Directory) error {
	dropped, err := a.forgetModels(ctx, func(ctx context.Context, tenant, id, life string) (bool, error) {
		m, err := people.GetModel(ctx, tenant, id)
		if errors.Is(err, event.ErrNotFound) {
			return false, nil
		}
		return m.Life == life, err
	})
	if dropped {
		closeIdle()
	}
	if err != nil {
		return err
	}
	var failed error
	lives := map[string]string{}
	err = grantsIn(a.cfg.Data).forgetTenants(func(id, life string) bool {
		if life == "" || failed != nil { // the command's own
			return false
		}
		now, known := lives[id]
		if !known {
			t, err := people.GetTenant(ctx, id)
			if err != nil && !errors.Is(err, event.ErrNotFound) {
				failed = err
				return false
			}
			now = t.Life
			lives[id] = now
		}
		return now != life
	})
	return errors.Join(failed, err)
}

// forgetDeleted removes from this server what is kept of conversations that another one has deleted: their
// folds in memory, and their files, from the folder behind after on. It returns the folder to go on from.
func (h *house) forgetDeleted(ctx context.Context, after string) (next string, err error) {
	if err := h.service.ForgetDeleted(ctx); err != nil {
		return after, err
	}
	return h.agents.scratch.sweep(ctx, after, h.service.Lives)
}
