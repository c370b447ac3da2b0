package drive

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Offer is the set of an agent's tools at one instant. It never changes: a model call is
// shown one offer, and the calls that it answers with find their tools in the same one,
// whatever is registered or removed meanwhile. An agent that changes gets another offer.
type Offer struct {
	Tools []tool.Tool
	Specs []model.ToolSpec
	// Names are those of specs, shared with the log.
	Names []string
	// index finds a tool by name where there are too many to look through.
	index    map[string]int
	Children []SubAgent
	// agents names the children, polling the tools that are there to be asked again and again. tokens estimates the specs.
	// All are made when the draft is done.
	agents  []string
	polling []string
	tokens  int64
	// Missing are optional tools that the agent does without, narrow those that a model is not told of, by its name. What
	// the models can be told is known once the agent was checked.
	Missing []SetAside
	Narrow  atomic.Pointer[map[string][]SetAside]
}

// NoOffer is what an agent without tools offers.
var NoOffer = &Offer{}

// manyTools is where looking through a list of names costs more than a map does.
const manyTools = 8

// Find gives the place of a tool in tools and specs; -1 if there is none of that name.
func (o *Offer) Find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.Specs {
		if o.Specs[i].Name == name {
			return i
		}
	}
	return -1
}

// Tool finds a tool by name; nil if there is none.
func (o *Offer) Tool(name string) tool.Tool {
	if i := o.Find(name); i >= 0 {
		return o.Tools[i]
	}
	return nil
}

// child finds an agent that is used as a tool; nil if the name is none.
func (o *Offer) child(name string) SubAgent {
	for _, c := range o.Children {
		if c.Spec().Name == name {
			return c
		}
	}
	return nil
}

// Draft begins another offer with what this one has.
func (o *Offer) Draft() *Offer {
	return &Offer{
		Tools: slices.Clone(o.Tools), Specs: slices.Clone(o.Specs), Names: slices.Clone(o.Names), Children: slices.Clone(o.Children),
	}
}

// Add puts a tool whose schema is known to be good into a draft.
func (o *Offer) Add(agent string, t tool.Tool, spec model.ToolSpec) error {
	if err := tool.CheckName(spec.Name); err != nil {
		return err
	}
	if o.index == nil && len(o.Tools) >= manyTools {
		o.indexed()
	}
	if o.Find(spec.Name) >= 0 {
		if _, optional := t.(tool.Optional); optional || !o.giveWay(agent, spec.Name) {
			return twoCalled(agent, spec.Name)
		}
	}
	traits := tool.TraitsOf(t)
	if err := checkRetry(spec.Name, &traits); err != nil {
		return err
	}
	o.Tools, o.Specs, o.Names = append(o.Tools, t), append(o.Specs, spec), append(o.Names, spec.Name)
	if o.index != nil {
		o.index[spec.Name] = len(o.Tools) - 1
	}
	return nil
}

func twoCalled(agent, name string) error {
	return &event.Error{
		Op: "agent " + agent, Kind: event.ErrInvalid, Message: fmt.Sprintf("two tools are called %q", name), Hint: "rename one of them",
	}
}

// Remove takes the tools of these names out of a draft. Names that it does not have are
// passed over.
func (o *Offer) Remove(names []string) {
	kept := 0
	for i, t := range o.Tools {
		if !slices.Contains(names, o.Names[i]) {
			o.Tools[kept], o.Specs[kept], o.Names[kept] = t, o.Specs[i], o.Names[i]
			kept++
		}
	}
	clear(o.Tools[kept:])
	o.Tools, o.Specs, o.Names, o.index = o.Tools[:kept], o.Specs[:kept], o.Names[:kept], nil
	o.Children = slices.DeleteFunc(o.Children, func(c SubAgent) bool { return slices.Contains(names, c.Spec().Name) })
}

// Done makes what is known of the whole offer.
func (o *Offer) Done() {
	o.indexed()
	for _, c := range o.Children {
		o.agents = append(o.agents, c.Spec().Name)
	}
	for i, t := range o.Tools {
		o.tokens += model.ToolTokens(&o.Specs[i])
		if tool.TraitsOf(t).Polling {
			o.polling = append(o.polling, o.Names[i])
		}
	}
}

// indexed makes the index where it pays.
func (o *Offer) indexed() {
	if o.index != nil || len(o.Tools) < manyTools {
		return
	}
	o.index = make(map[string]int, len(o.Tools)+1)
	for i, name := range o.Names {
		o.index[name] = i
	}
}

// sameNames compares names that mostly are one and the same slice.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
