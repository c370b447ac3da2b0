package braid

import (
	"fmt"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
)

// NewFlow makes an agent of another kind: k decides which of the agents work, and on what. The agent itself asks no model, so
// [Agent.Model] returns nil. It is used like any other agent. Package flow says how kinds are written, and has some.
//
// Its [Limits] bound all that happens below it. Wrong arguments (a nil, two different agents of one name) do not panic:
// [Agent.Err] reports them, and so does every run.
func NewFlow(name string, k kind.Kind, agents ...*Agent) *Agent {
	a := &Agent{name: name, limits: defaultLimits, bounds: defaultLimits.bounds(), retry: defaultRetry}
	wrong := func(message, hint string) {
		if a.err == nil {
			a.err = &event.Error{Op: "agent " + name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
	}
	if name == "" || name == event.UserAuthor {
		wrong(fmt.Sprintf("%q cannot be the name of an agent", name), "give it a name of its own")
	}
	if isNil(k) {
		wrong("the agent has no kind", "pass a value that implements flow.Kind, or use flow.Sequence")
	}
	own := decide.Flow{Kind: k}
	for _, part := range agents {
		switch {
		case part == nil:
			wrong("an agent of a flow is nil", "leave it out")
			continue
		case slices.Contains(a.parts, part):
			continue // it works more than once
		case slices.Contains(own.Agents, part.name):
			wrong(fmt.Sprintf("two agents are called %q", part.name), "rename one of them")
		}
		if err := part.Err(); err != nil && a.err == nil {
			a.err = err
		}
		a.parts, own.Agents = append(a.parts, part), append(own.Agents, part.name)
	}
	a.flow = own
	return a.Use()
}

// isFlow reports whether the agent asks no model.
func (a *Agent) isFlow() bool { return a.flow != nil }

// kind decides in the agent's scopes.
func (a *Agent) kind() decide.Kind {
	if a.flow != nil {
		return a.flow
	}
	return decide.LLM{}
}

// subAgents lists the agents that the agent itself can open a scope for, where it offers o.
func (a *Agent) subAgents(o *offer) []*Agent {
	list := slices.Clone(a.parts)
	for _, c := range o.children {
		list = append(list, c.agent)
	}
	return list
}

// modelName is the name of the agent's first model; empty for none.
func (a *Agent) modelName() string {
	if a.model == nil {
		return ""
	}
	return a.model.Info().Name
}
