package braid

import (
	"fmt"
	"slices"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/foreign"
)

// NewFlow makes an agent of another kind: k decides which of the agents work, and on what. The agent itself asks no model, so
// [Agent.Model] returns nil. It is used like any other agent. Package flow says how kinds are written, and has some.
//
// Its [Limits] bound all that happens below it. Wrong arguments (a nil, two different agents of one name) do not panic:
// [Agent.Err] reports them, and so does every run.
func NewFlow(name string, k kind.Kind, agents ...*Agent) *Agent {
	a := &Agent{first: drive.Agent{Name: name}}
	a.set = &a.first
	a.limit(&defaultLimits)
	a.set.Retry = defaultRetry
	a.set.Offers = &a.offered
	wrong := func(message, hint string) {
		if a.err == nil {
			a.err = &event.Error{Op: "agent " + name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
	}
	if name == "" || name == event.UserAuthor {
		wrong(fmt.Sprintf("%q cannot be the name of an agent", name), "give it a name of its own")
	}
	if foreign.IsNil(k) {
		wrong("the agent has no kind", "pass a value that implements flow.Kind, or use flow.Sequence")
	}
	own := decide.Flow{Kind: k}
	for _, part := range agents {
		switch {
		case part == nil:
			wrong("an agent of a flow is nil", "leave it out")
			continue
		case slices.ContainsFunc(a.set.Parts, func(t drive.SubAgent) bool { return t.(*agentTool).agent == part }):
			continue // it works more than once
		case slices.Contains(own.Agents, part.set.Name):
			wrong(fmt.Sprintf("two agents are called %q", part.set.Name), "rename one of them")
		}
		if err := part.Err(); err != nil && a.err == nil {
			a.err = err
		}
		a.set.Parts, own.Agents = append(a.set.Parts, &agentTool{agent: part}), append(own.Agents, part.set.Name)
	}
	if w, ok := k.(kind.Worker); ok && !foreign.IsNil(k) {
		a.Use(runs{w, &own})
	}
	a.set.Flow = own
	return a.Use()
}

// runs gives an agent the one tool that its kind runs.
type runs struct {
	kind kind.Worker
	own  *decide.Flow
}

func (r runs) attach(a *Agent) error {
	t := r.kind.Tool()
	if err := Tools(t).attach(a); err != nil {
		return err
	}
	r.own.Tool = t.Spec().Name
	return nil
}

// opens lists the agents for which the agent itself can open a scope, if it offers o.
func (a *Agent) opens(o *toolset.Offer) (agents []*Agent) {
	for _, part := range a.set.Parts {
		agents = append(agents, part.(*agentTool).agent)
	}
	for _, child := range o.Children {
		for _, one := range drive.SubAgentsOf(child) {
			agents = append(agents, one.(*agentTool).agent)
		}
	}
	return agents
}
