package directory

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
)

// AllowsSettings refuses settings that an agent of the tenant may not use with a model that the
// operator pays for: a provider's tool or a tier that the policy does not name, and data in the
// operator's account with the provider. The error has the code [SettingForbidden].
func (p *Policy) AllowsSettings(s *Settings) error {
	for i := range s.ServerTools {
		kind := s.ServerTools[i].Kind
		path := "server_tools[" + strconv.Itoa(i) + "]"
		switch {
		case kind == FileSearch:
			return forbidden(path+": the stores would be those of the operator's account",
				"use a model with a key of the tenant's own, or ask the operator to name the stores in the model's entry")
		case !slices.Contains(p.ServerTools, kind):
			return forbidden(path+": the tenant's policy does not allow "+kind+" with a model that the operator pays for",
				"ask the operator to add it to policy.server_tools, or use a model with a key of the tenant's own")
		}
	}
	if s.ServiceTier != "" && !slices.Contains(p.ServiceTiers, s.ServiceTier) {
		return forbidden("service_tier: the tenant's policy does not allow this tier with a model that the operator pays for",
			"ask the operator to add it to policy.service_tiers, or use a model with a key of the tenant's own")
	}
	return nil
}

// These are the settings that a policy may let requests set for their run.
const (
	RunInstructions = "instructions"
	RunModelOptions = "model_options"
	RunToolChoice   = "tool_choice"
)

var runSettings = []string{RunInstructions, RunModelOptions, RunToolChoice}

// AllowsRun reports whether a request of the tenant may set a setting for its run.
func (p *Policy) AllowsRun(setting string) bool { return slices.Contains(p.RunSettings, setting) }

// ForbidsRun returns the error of a request that sets a setting which the policy does not allow. Its code is
// [SettingForbidden].
func (*Policy) ForbidsRun(setting string) error {
	return forbidden(setting+": the tenant's policy does not let requests set it",
		"leave it out, or ask the operator to add it to policy.run_settings")
}

// SettingForbidden is the code of an error of [Policy.AllowsSettings] and [Policy.ForbidsRun].
const SettingForbidden = "SETTING_FORBIDDEN"

func forbidden(message, hint string) error {
	return &event.Error{Op: "settings", Kind: event.ErrPermission, Code: SettingForbidden, Message: message, Hint: hint}
}
