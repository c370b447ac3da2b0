package service

import (
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// OneAgent returns a function for [Options].Agent that answers all runs with one agent. The agent's
// own limits hold. It refuses what that agent cannot do for a caller or a tenant: another model, an
// output schema, permissions, a system prompt, an agent of the tenant's own.
func OneAgent(agent *braid.Agent) func(context.Context, AgentRequest) (*braid.Agent, error) {
	unsupported := func(message, hint string) error {
		return &event.Error{Kind: event.ErrUnsupported, Message: message, Hint: hint}
	}
	return func(_ context.Context, r AgentRequest) (*braid.Agent, error) {
		switch {
		case r.Model != "" && (r.Own != nil || agent.Model() == nil || r.Model != agent.Model().Info().Name):
			return nil, &event.Error{
				Kind: event.ErrModelNotFound, Message: "callers do not choose this agent's model", Hint: "leave model out",
			}
		case r.OutputSchema != nil:
			return nil, unsupported("callers do not choose the form of this agent's answers", "leave output_schema out")
		case r.ID != "" || r.SystemPrompt != "" || r.Context != "" || r.Settings.Any() || len(r.Permissions) > 0:
			return nil, unsupported("the server has one agent, which takes no settings of tenants",
				"leave the tenant's agent, system prompt and permissions out")
		}
		return agent, nil
	}
}
