package service

import (
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
