package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

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
