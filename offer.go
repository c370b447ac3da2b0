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
	tools []tool.Tool
	specs []model.ToolSpec
	// names are those of specs, shared with the log.
	names []string
	// index finds a tool by name where there are too many to look through.
	index    map[string]int
	children []subAgent
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
func (o *offer) tool(name string) tool.Tool {
	if i := o.find(name); i >= 0 {
		return o.tools[i]
	}
	return nil
}

// child finds an agent that is used as a tool; nil if the name is none.
func (o *offer) child(name string) subAgent {
	for _, c := range o.children {
		if c.Spec().Name == name {
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
func (o *offer) add(agent string, t tool.Tool, spec model.ToolSpec) error {
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
	o.children = slices.DeleteFunc(o.children, func(c subAgent) bool { return slices.Contains(names, c.Spec().Name) })
}

// done makes what is known of the whole offer.
func (o *offer) done() {
	o.indexed()
	for _, c := range o.children {
		o.agents = append(o.agents, c.Spec().Name)
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

// sameNames compares names that mostly are one and the same slice.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
