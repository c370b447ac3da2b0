package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service/directory"
)

// settingsOf are the settings with which an agent asks its model, which own is. What the operator pays for must be allowed
// by the tenant's policy; own is nil for a model that the server knows by itself, and that is the operator's.
func settingsOf(policy *directory.Policy, s *directory.Settings, own *OwnModel) (directory.Settings, error) {
	if own == nil || own.Operators() {
		if err := policy.AllowsSettings(s); err != nil {
			return directory.Settings{}, err
		}
	}
	if own == nil {
		return *s, nil
	}
	return s.Over(own.Settings), nil
}

// ModelOptions are the options of the calls of the agent's model: what its settings say, and the server's own options
// where they say nothing.
func (o *AgentOptions) ModelOptions(servers braid.ModelOptions) braid.ModelOptions {
	s, all := &o.Settings, servers
	if s.Effort != "" {
		all.Effort = model.Effort(s.Effort)
	}
	if s.ShowThinking != nil {
		all.ShowThinking = *s.ShowThinking
	}
	if s.TopP != nil {
		all.TopP = s.TopP
	}
	if s.Seed != nil {
		all.Seed = s.Seed
	}
	if s.Verbosity != "" {
		all.Verbosity = s.Verbosity
	}
	if s.ServiceTier != "" {
		all.ServiceTier = s.ServiceTier
	}
	if s.ServerTools != nil {
		all.ServerTools = make([]model.ServerTool, len(s.ServerTools))
		for i, t := range s.ServerTools {
			all.ServerTools[i] = model.ServerTool{
				Kind: model.ServerToolKind(t.Kind), MaxUses: t.MaxUses, Domains: t.Domains, Blocked: t.Blocked, Stores: t.Stores,
			}
		}
	}
	return all
}

// CheckAgent reports a setting of an agent that its runs can never have: one with a value that it cannot have (the code
// SETTING_INVALID), one that its model does not keep ([event.ErrUnsupported]), and one that the tenant's policy does not
// allow ([directory.SettingForbidden]). Each run is checked again, because it may name another model and a policy may
// change. What cannot be found out now, such as for want of a key, is no error. No model is called.
func (s *Service) CheckAgent(ctx context.Context, tenant string, spec *directory.AgentSpec) error {
	if s.options.Directory == nil || !spec.Any() && spec.Context == "" {
		return nil
	}
	if err := spec.CheckSettings(); err != nil {
		return err
	}
	x := &ExecutionContext{Principal: Principal{Tenant: tenant}}
	var err error
	if x.Tenant, err = s.options.Directory.Tenant(ctx, tenant); err != nil {
		return nil //nolint:nilerr // its runs say so
	}
	x.Agent.AgentSpec = *spec
	x.Agent.SubAgents = nil // each is checked for itself
	r, err := s.builder.Build(ctx, x)
	if err == nil {
		_, err = s.make(ctx, &r)
	}
	if e, ok := errors.AsType[*event.Error](err); ok && (e.Kind == event.ErrUnsupported || e.Code == directory.SettingForbidden) {
		return e
	}
	return nil
}
