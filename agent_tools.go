package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/tool"
)

// current is what the agent offers now. It is safe for concurrent use.
func (a *Agent) current() *toolset.Offer { return a.set.Current() }

// change makes another offer from the agent's and puts it in its place, in one step and
// only where f and check find nothing wrong.
func (a *Agent) change(f func() error, check func(*toolset.Offer) error) error {
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

// AddTools adds tools to an agent that may be running. It adds all of them, or none if one is wrong: its name is
// taken, or its schema is invalid or refused by one of the agent's models. Model calls that begin afterwards see the
// new tools, in all runs of the agent. Calls that have begun keep the tools that they were shown.
//
// The change is in this process only. Another process that drives the agent's runs must add the tools itself. Agents
// that are used as tools are added with [Agent.Use].
func (a *Agent) AddTools(tools ...Tool) error { return a.ReplaceTools(nil, tools...) }

// RemoveTools removes tools from an agent that may be running, under the rules of [Agent.AddTools]. Model calls that
// begin afterwards do not see them. A tool call that a model has already asked for still runs. Unknown names are
// ignored.
func (a *Agent) RemoveTools(names ...string) {
	// Nothing can be wrong with fewer tools that was not wrong with more.
	_ = a.ReplaceTools(names)
}

// ReplaceTools removes and adds tools in one step, so no model call sees neither or both. Use it to give a tool's name
// to another tool, or to replace a whole list. If it fails, nothing has changed.
func (a *Agent) ReplaceTools(remove []string, tools ...Tool) error {
	return a.change(func() error {
		a.draft.Remove(remove)
		if slices.ContainsFunc(tools, drive.OpensScopes) {
			return &event.Error{
				Op: "agent " + a.set.Name, Kind: event.ErrUnsupported,
				Message: "an agent cannot become a tool of one that may be at work", Hint: "give it with Use before the first run",
			}
		}
		return Tools(tools...).attach(a)
	}, func(o *toolset.Offer) error {
		if len(tools) == 0 {
			return nil
		}
		return a.check(o)
	})
}

// Tools lists the agent's tools of this moment, in the order in which they were added.
func (a *Agent) Tools() []Tool { return slices.Clone(a.current().Tools) }

// namesAgents reports whether calls of a tool name agents that go to work.
func namesAgents(t Tool) bool {
	switch t.(type) {
	case drive.Delegate, drive.Transfer:
		return true
	default:
		return false
	}
}

// attachTool adds one tool to the draft.
func (a *Agent) attachTool(t Tool) error {
	if err := tool.ErrOf(t); err != nil {
		return err
	}
	spec := t.Spec()
	err := tool.SchemaErrOf(t, spec)
	if err == nil {
		err = a.draft.Add(a.set.Name, t, spec)
	}
	if err == nil && namesAgents(t) {
		a.draft.Children = append(a.draft.Children, t)
	}
	optional, ok := t.(tool.Optional)
	if err == nil || !ok {
		return err
	}
	left, err := toolset.Leave(optional, spec.Name, "", err)
	a.draft.Missing = append(a.draft.Missing, left)
	return err
}
