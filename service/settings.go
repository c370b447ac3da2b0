package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service/directory"
)

// settingsOf returns the settings for the calls of an agent's model. own is nil for a model that
// the server resolves itself, which is the operator's. The tenant's policy must allow settings of a
// model that the operator pays for.
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

// ModelOptions returns the options of the agent's model calls: its settings, and the server's
// options where it has none.
func (o *AgentOptions) ModelOptions(servers model.Options) model.Options {
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

// CheckAgent returns an error if an agent has a setting that its runs can never use: an invalid
// value (the code SETTING_INVALID), one that its model does not support ([event.ErrUnsupported]),
// or one that the tenant's policy forbids ([directory.SettingForbidden]). What cannot be checked
// now, for example without a key, is not an error. Each run is checked again, because it may name
// another model and a policy may change. CheckAgent calls no model.
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
		return nil //nolint:nilerr // its runs report it
	}
	x.Agent.AgentSpec = *spec
	x.Agent.SubAgents = nil // each is checked for itself
	x.Agent.MCPServers = []string{}
	r, err := s.builder.Build(ctx, x)
	if err == nil {
		_, err = s.make(ctx, &r)
	}
	if e, ok := errors.AsType[*event.Error](err); ok && (e.Kind == event.ErrUnsupported || e.Code == directory.SettingForbidden) {
		return e
	}
	return nil
}
