package braid

import (
	"slices"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// current is what the agent offers now. It is safe for concurrent use.
func (a *Agent) current() *drive.Offer {
	if o := a.offered.Load(); o != nil {
		return o
	}
	return drive.NoOffer
}

// change makes another offer from the agent's and puts it in its place, in one step and
// only where f and check find nothing wrong.
func (a *Agent) change(f func() error, check func(*drive.Offer) error) error {
	a.offering.Lock()
	defer a.offering.Unlock()
	a.draft = a.current().Draft()
	defer func() { a.draft = nil }()
	if err := f(); err != nil {
		return err
	}
	if err := check(a.draft); err != nil {
		return err
	}
	a.draft.Done()
	a.offered.Store(a.draft)
	return nil
}

// AddTools registers tools with an agent that may be at work: all of them, or none where
// one is wrong (a name that is taken, a schema that is none or that the agent's models
// refuse). Every model call that begins afterwards is offered them, in all of the agent's
// runs; what was asked in calls that have begun is answered with what these were offered.
//
// Nothing of this outlives the process: whoever drives the agent's runs elsewhere, or
// later, registers them there too. Agents that are used as tools are given with [Agent.Use].
func (a *Agent) AddTools(tools ...Tool) error { return a.ReplaceTools(nil, tools...) }

// RemoveTools takes tools away from an agent that may be at work, under the rules of
// [Agent.AddTools]: no model call that begins afterwards is offered them, and what models
// have asked for already is still run. Names that the agent does not have are passed over.
func (a *Agent) RemoveTools(names ...string) {
	// Nothing can be wrong with fewer tools that was not wrong with more.
	_ = a.ReplaceTools(names)
}

// ReplaceTools removes and adds tools in one step, so that no model call is offered
// neither or both: the way to give a tool's name to another one, or to take over a list
// that has changed as a whole. Where it fails nothing has changed.
func (a *Agent) ReplaceTools(remove []string, tools ...Tool) error {
	return a.change(func() error {
		a.draft.Remove(remove)
		for _, t := range tools {
			if _, agent := t.(*agentTool); agent {
				return &event.Error{
					Op: "agent " + a.set.Name, Kind: event.ErrUnsupported,
					Message: "an agent cannot become a tool of one that may be at work", Hint: "give it with Use before the first run",
				}
			}
		}
		return Tools(tools...).attach(a)
	}, func(o *drive.Offer) error {
		if len(tools) == 0 {
			return nil
		}
		return a.check(o)
	})
}

// Tools lists what the agent offers now, in the order in which it was given.
func (a *Agent) Tools() []Tool { return slices.Clone(a.current().Tools) }

// attachTool adds one tool to the draft.
func (a *Agent) attachTool(t Tool) error {
	if err := tool.ErrOf(t); err != nil {
		return err
	}
	spec := t.Spec()
	err := tool.CheckSchema(spec)
	if err == nil {
		err = a.draft.Add(a.set.Name, t, spec)
	}
	optional, ok := t.(tool.Optional)
	if err == nil || !ok {
		return err
	}
	left, err := drive.Leave(optional, spec.Name, "", err)
	a.draft.Missing = append(a.draft.Missing, left)
	return err
}
