package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
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

// forgetEvery is how often a server looks whether the directory was changed.
const forgetEvery = 2 * time.Second

// forgetGone drops what this server keeps of tenants and models that are there no longer, soon after the
// directory was changed, by whichever server. end has it stop, and returns when it has.
func (h *house) forgetGone(ctx context.Context, log *slog.Logger) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		seen := int64(-1)
		for {
			now, err := h.people.Generation(ctx)
			if err == nil && now != seen {
				if err = h.agents.forgetGone(ctx, h.people); err == nil {
					seen = now
				}
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("what is kept of erased tenants could not all be removed", "error", err)
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
