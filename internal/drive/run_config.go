package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/secret"
)

// runConfig is what a drive is given. It is frozen once the drive has begun, so steps may read it on their goroutines.
type runConfig struct {
	// agent is the root agent.
	agent *Agent
	// team holds the agents below the root, by name.
	team map[string]*Agent
	// bounds are the limits of the run's agents, by name; nil for one agent alone.
	bounds map[string]*decide.Limits
	// output is the form of the root's output that the caller wants; nil leaves it to the agent.
	output *output.Form
	// work is what the engine passed besides the run; an empty one without an engine.
	work *EngineWork
	// trace is the run's place in a distributed trace.
	trace string
	// given is the run's temporary state from the caller; nil for none.
	given map[string]json.RawMessage
	// secrets are the run's; nil for none.
	secrets map[string]secret.Secret
	// mask finds the secrets in texts; nil for none.
	mask *secret.Mask
	// maskRules is the mask as a guardrail.
	maskRules []Guard

	// hooked is set if an agent of the run has hooks inside runs.
	hooked bool
	// policed is set if an agent of the run has permissions.
	policed bool
	// simulated is set if a model of the run follows a script.
	simulated bool
	// exclusive is set if nobody else can take the lease.
	exclusive bool
	// callerWaits is set if the caller waits for the run. Such a run is not parked for a timer.
	callerWaits bool
	// unstoppable is set if nobody but the reader can stop the run.
	unstoppable bool
}

// survey sets the fields that depend on the agents of the run.
func (c *runConfig) survey() {
	c.hooked, c.policed = c.agent.Hooks.Inside(), c.agent.Permits != nil
	if len(c.team) > 0 {
		c.bounds = map[string]*decide.Limits{c.agent.Name: c.agent.Bounds}
	}
	for name, a := range c.team {
		c.bounds[name] = a.Bounds
		c.hooked = c.hooked || a.Hooks.Inside()
		c.policed = c.policed || a.Permits != nil
	}
	c.simulated = c.agent.simulated(c.team)
	// A hook around the drive may let others stop it.
	c.unstoppable = c.unstoppable && !c.hooked && c.agent.Hooks == nil
}

// agentOf returns the run's agent of this name; nil for none.
func (c *runConfig) agentOf(name string) *Agent {
	if name == c.agent.Name {
		return c.agent
	}
	return c.team[name]
}
