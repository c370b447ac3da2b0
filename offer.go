package braid

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// offer is the set of an agent's tools at one instant. It never changes: a model call is
// shown one offer, and the calls that it answers with find their tools in the same one,
// whatever is registered or removed meanwhile. An agent that changes gets another offer.
type offer struct {
	tools []Tool
	specs []model.ToolSpec
	// names are those of specs, shared with the log.
	names []string
	// index finds a tool by name where there are too many to look through.
	index    map[string]int
	children []*agentTool
	// agents names the children, polling the tools that are there to be asked again and again. tokens estimates the specs.
	// All are made when the draft is done.
	agents  []string
	polling []string
	tokens  int64
	// missing are optional tools that the agent does without, narrow those that a model is not told of, by its name. What
	// the models can be told is known once the agent was checked.
	missing []setAside
	narrow  atomic.Pointer[map[string][]setAside]
}

var noOffer = &offer{}

// manyTools is where looking through a list of names costs more than a map does.
const manyTools = 8

// find gives the place of a tool in tools and specs; -1 if there is none of that name.
func (o *offer) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.specs {
		if o.specs[i].Name == name {
			return i
		}
	}
	return -1
}

// tool finds a tool by name; nil if there is none.
func (o *offer) tool(name string) Tool {
	if i := o.find(name); i >= 0 {
		return o.tools[i]
	}
	return nil
}

// child finds an agent that is used as a tool; nil if the name is none.
func (o *offer) child(name string) *agentTool {
	for _, c := range o.children {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

// draft begins another offer with what this one has.
func (o *offer) draft() *offer {
	return &offer{
		tools: slices.Clone(o.tools), specs: slices.Clone(o.specs), names: slices.Clone(o.names), children: slices.Clone(o.children),
	}
}

// add puts a tool whose schema is known to be good into a draft.
func (o *offer) add(agent string, t Tool, spec model.ToolSpec) error {
	if err := tool.CheckName(spec.Name); err != nil {
		return err
	}
	if o.index == nil && len(o.tools) >= manyTools {
		o.indexed()
	}
	if o.find(spec.Name) >= 0 {
		if _, optional := t.(tool.Optional); optional || !o.giveWay(agent, spec.Name) {
			return twoCalled(agent, spec.Name)
		}
	}
	traits := tool.TraitsOf(t)
	if err := checkRetry(spec.Name, &traits); err != nil {
		return err
	}
	o.tools, o.specs, o.names = append(o.tools, t), append(o.specs, spec), append(o.names, spec.Name)
	if o.index != nil {
		o.index[spec.Name] = len(o.tools) - 1
	}
	return nil
}

func twoCalled(agent, name string) error {
	return &event.Error{
		Op: "agent " + agent, Kind: event.ErrInvalid, Message: fmt.Sprintf("two tools are called %q", name), Hint: "rename one of them",
	}
}

// remove takes the tools of these names out of a draft. Names that it does not have are
// passed over.
func (o *offer) remove(names []string) {
	kept := 0
	for i, t := range o.tools {
		if !slices.Contains(names, o.names[i]) {
			o.tools[kept], o.specs[kept], o.names[kept] = t, o.specs[i], o.names[i]
			kept++
		}
	}
	clear(o.tools[kept:])
	o.tools, o.specs, o.names, o.index = o.tools[:kept], o.specs[:kept], o.names[:kept], nil
	o.children = slices.DeleteFunc(o.children, func(c *agentTool) bool { return slices.Contains(names, c.spec.Name) })
}

// done makes what is known of the whole offer.
func (o *offer) done() {
	o.indexed()
	for _, c := range o.children {
		o.agents = append(o.agents, c.spec.Name)
	}
	for i, t := range o.tools {
		o.tokens += model.ToolTokens(&o.specs[i])
		if tool.TraitsOf(t).Polling {
			o.polling = append(o.polling, o.names[i])
		}
	}
}

// indexed makes the index where it pays.
func (o *offer) indexed() {
	if o.index != nil || len(o.tools) < manyTools {
		return
	}
	o.index = make(map[string]int, len(o.tools)+1)
	for i, name := range o.names {
		o.index[name] = i
	}
}

// current is what the agent offers now. It is safe for concurrent use.
func (a *Agent) current() *offer {
	if o := a.offered.Load(); o != nil {
		return o
	}
	return noOffer
}

// change makes another offer from the agent's and puts it in its place, in one step and
// only where f and check find nothing wrong.
func (a *Agent) change(f func() error, check func(*offer) error) error {
	a.offering.Lock()
	defer a.offering.Unlock()
	a.draft = a.current().draft()
	defer func() { a.draft = nil }()
	if err := f(); err != nil {
		return err
	}
	if err := check(a.draft); err != nil {
		return err
	}
	a.draft.done()
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
		a.draft.remove(remove)
		for _, t := range tools {
			if _, agent := t.(*agentTool); agent {
				return &event.Error{
					Op: "agent " + a.set.name, Kind: event.ErrUnsupported,
					Message: "an agent cannot become a tool of one that may be at work", Hint: "give it with Use before the first run",
				}
			}
		}
		return Tools(tools...).attach(a)
	}, func(o *offer) error {
		if len(tools) == 0 {
			return nil
		}
		return a.check(o)
	})
}

// Tools lists what the agent offers now, in the order in which it was given.
func (a *Agent) Tools() []Tool { return slices.Clone(a.current().tools) }

// sameNames compares names that mostly are one and the same slice.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
