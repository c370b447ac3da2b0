package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// model returns the model that a name selects in the tenant, with its key. "" is the server's own
// model. For the default tenant without a policy it returns a name that the directory does not know
// unchanged: the opener must check it.
func (b *OptionsBuilder) model(ctx context.Context, x *ExecutionContext, name string) (string, *OwnModel, error) {
	if b.Directory == nil {
		return name, nil, nil
	}
	policy := &x.Tenant.Policy
	free := len(policy.Models) == 0
	if name == "" && free {
		return "", nil, nil
	}
	for tries := 0; ; tries++ {
		m, err := b.find(ctx, x, name)
		switch {
		case errors.Is(err, event.ErrModelNotFound) && name != "" && free && x.Tenant.ID == DefaultTenant:
			return name, nil, nil
		case err != nil:
			return "", nil, err
		case !policy.Allows(&m):
			return "", nil, noModel("the tenant may not use this model", nil)
		}
		key, err := b.key(ctx, &m)
		if errors.Is(err, directory.ErrMoved) && tries < mostMoves {
			continue // it was changed or replaced since it was found
		}
		if err != nil {
			return "", nil, err
		}
		return m.Provider + ":" + m.Name, &OwnModel{Model: m, Key: key}, nil
	}
}

// mostMoves bounds how often a changing model is looked up.
const mostMoves = 3

// find looks up a model: first the tenant's own, then a shared one. An own model that the tenant's
// policy forbids does not hide a shared one that it allows.
func (b *OptionsBuilder) find(ctx context.Context, x *ExecutionContext, name string) (directory.Model, error) {
	m, err := b.Directory.Model(ctx, x.Tenant.ID, name)
	policy := &x.Tenant.Policy
	if len(policy.Models) == 0 || err == nil && (m.Tenant == "" || policy.Allows(&m)) {
		return m, err
	}
	if shared, e := b.Directory.Model(ctx, "", name); e == nil && policy.Allows(&shared) {
		return shared, nil
	}
	return m, err
}

// key returns the key for the model's provider. An empty key means that the server uses its own
// environment.
func (b *OptionsBuilder) key(ctx context.Context, m *directory.Model) (secret.Secret, error) {
	key, err := b.Directory.Credential(ctx, *m)
	if errors.Is(err, event.ErrModelAuth) {
		return key, noModel("there is no key for this model", err)
	}
	// A tenant's own entry must not use the operator's key.
	if err == nil && key.Empty() && !m.Operators() && m.Provider != demoProvider {
		return key, noModel("there is no key for this model", nil)
	}
	return key, err
}

// demoProvider is the provider of the simulated models.
const demoProvider = "demo"

func noModel(message string, cause error) error {
	return &event.Error{
		Op: "model", Kind: event.ErrModelNotFound, Code: "MODEL_NOT_FOUND", Message: message,
		Hint: "name another model, or ask the tenant's administrator", Err: cause,
	}
}
