// Package toolset holds what an agent offers its model at one instant, and how a model finds tools in it.
package toolset

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Offer is the set of an agent's tools at one instant. It never changes: a model call gets one offer, and its tool
// calls find their tools in the same one, whatever is added or removed meanwhile. An agent that changes makes another
// offer.
type Offer struct {
	Tools []tool.Tool
	Specs []model.ToolSpec
	// Names are the names of Specs. The log shares the slice.
	Names []string
	// index finds a tool by name; nil for a short list.
	index map[string]int
	// Children are the tools that are agents.
	Children []tool.Tool
	// Agents are the names of Children. [Offer.Done] sets them.
	Agents []string
	// Polling are the names of the tools that are meant to be polled. [Offer.Done] sets them.
	Polling []string
	// Tokens estimates the size of the specs. [Offer.Done] sets it.
	Tokens int64
	// Missing are the optional tools that the agent does not get.
	Missing []SetAside
	// Narrow lists, by the name of a model, the tools that it does not get. It is set when the agent was checked.
	Narrow atomic.Pointer[map[string][]SetAside]
}

// Empty is the offer of an agent without tools.
var Empty = &Offer{}

// manyTools is the length from which a map is faster than a search through the list.
const manyTools = 8

// Find returns the place of a tool in Tools and Specs, or -1.
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

// Tool returns a tool by name, or nil.
func (o *Offer) Tool(name string) tool.Tool {
	if i := o.Find(name); i >= 0 {
		return o.Tools[i]
	}
	return nil
}

// Draft copies the offer for a change.
func (o *Offer) Draft() *Offer {
	return &Offer{
		Tools: slices.Clone(o.Tools), Specs: slices.Clone(o.Specs), Names: slices.Clone(o.Names), Children: slices.Clone(o.Children),
	}
}

// Add adds a tool with a valid schema to a draft.
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

// checkRetry refuses a retry policy for a tool whose calls must not be repeated.
func checkRetry(name string, t *tool.Traits) error {
	if t.Retry.Attempts <= 1 || t.Repeats() {
		return nil
	}
	return &event.Error{
		Op: "tool " + name, Kind: event.ErrInvalid,
		Message: "the tool has a retry policy, but nobody knows what repeating a call would do",
		Hint:    "say that it is tool.Pure or tool.Idempotent, give it tool.Reconcile, or leave tool.Retries out",
	}
}

// Remove removes tools from a draft. It ignores unknown names.
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
	o.Children = slices.DeleteFunc(o.Children, func(c tool.Tool) bool { return slices.Contains(names, c.Spec().Name) })
}

// Done completes a draft.
func (o *Offer) Done() {
	o.indexed()
	for _, c := range o.Children {
		o.Agents = append(o.Agents, c.Spec().Name)
	}
	for i, t := range o.Tools {
		o.Tokens += model.ToolTokens(&o.Specs[i])
		if tool.TraitsOf(t).Polling {
			o.Polling = append(o.Polling, o.Names[i])
		}
	}
}

// indexed makes the index for a long list.
func (o *Offer) indexed() {
	if o.index != nil || len(o.Tools) < manyTools {
		return
	}
	o.index = make(map[string]int, len(o.Tools)+1)
	for i, name := range o.Names {
		o.index[name] = i
	}
}

// SameNames reports whether two lists of names are equal. Mostly they are the same slice.
func SameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// List returns names in one line, for a message.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
