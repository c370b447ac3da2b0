package agents

import (
	"context"
	"errors"
	"net/http"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Forget removes the files of a conversation. It is for [service.Options].Forget.
func (a *Factory) Forget(ctx context.Context, key service.ConversationKey) error {
	return a.options.Files.forget(ctx, key)
}

// ForgetTenant closes the models and the MCP servers of an erased tenant, with their keys and connections. It is for
// [service.Options].ForgetTenant.
func (a *Factory) ForgetTenant(_ context.Context, t directory.Tenant) error {
	a.own.mu.Lock()
	for name := range a.own.open {
		if name.tenant == t.ID {
			delete(a.own.open, name)
		}
	}
	a.own.mu.Unlock()
	closeIdle()
	if a.options.TenantServers != nil {
		a.options.TenantServers.Forget(t.ID)
	}
	return nil
}

// closeIdle closes idle connections to providers. A connection may remember the key that it was
// last used with.
func closeIdle() {
	if t, ok := http.DefaultTransport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// ForgetGone closes the models that the directory no longer has or has changed, and those that were
// not used for a while. A server calls it after the directory has changed.
func (a *Factory) ForgetGone(ctx context.Context, people *directory.Directory) error {
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
	return err
}

// SweepFiles removes the files of conversations that another server deleted, from the folder after
// the name after on. lives is [service.Service.Lives]. It checks a limited number of folders and
// returns the name to continue from. An empty name means the first folder.
func (a *Factory) SweepFiles(
	ctx context.Context, after string, lives func(context.Context, service.ConversationKey) (bool, error),
) (next string, err error) {
	return a.options.Files.sweep(ctx, after, lives)
}
