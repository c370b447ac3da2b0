package toolset

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// SetAside is an optional tool that an agent, or one of its models, does not get.
type SetAside struct {
	server string
	name   string
	why    error
}

// Leave calls a tool's LeftOut with the reason. model is the model that does not get the tool; "" means the whole
// agent.
func Leave(t tool.Optional, name, model string, why error) (SetAside, error) {
	l := SetAside{name: name, why: why}
	err := foreign.Shield("tool "+name, "a tool that is left out", func() error {
		l.server = t.Server()
		t.LeftOut(model, why)
		return nil
	})
	return l, err
}

// giveWay removes an optional tool from the draft if another tool is to have its name. It reports whether there was
// one.
func (o *Offer) giveWay(agent, name string) bool {
	optional, ok := o.Tool(name).(tool.Optional)
	if !ok {
		return false
	}
	left, err := Leave(optional, name, "", twoCalled(agent, name))
	if err != nil {
		return false
	}
	o.Missing = append(o.Missing, left)
	o.Remove([]string{name})
	return true
}

// Suiting finds the optional tools that a model cannot use. suits checks a request with the given tools; without the
// returned ones it finds nothing wrong. The error concerns the tools that are not optional.
func (o *Offer) Suiting(clash string, suits func(tools []model.ToolSpec) error) (left []SetAside, err error) {
	var own, optional []model.ToolSpec
	for i, t := range o.Tools {
		_, ok := t.(tool.Optional)
		switch {
		case ok && o.Names[i] == clash:
			left = append(left, SetAside{name: clash, why: &event.Error{
				Op: "tool " + clash, Kind: event.ErrInvalid, Message: "the tool that takes the agent's answer has this name", Hint: "rename it",
			}})
		case ok:
			optional = append(optional, o.Specs[i])
		default:
			own = append(own, o.Specs[i])
		}
	}
	all := o.Specs
	if len(left) > 0 {
		all = slices.DeleteFunc(slices.Clone(all), func(t model.ToolSpec) bool { return t.Name == clash })
	}
	if err = suits(all); err == nil || len(optional) == 0 {
		return left, err
	}
	if bad := suits(own); bad != nil {
		return nil, bad
	}
	unfit := misfits(optional, suits)
	for _, l := range unfit {
		all = slices.DeleteFunc(slices.Clone(all), func(t model.ToolSpec) bool { return t.Name == l.name })
	}
	if len(unfit) == 0 {
		return nil, err
	}
	return append(left, unfit...), suits(all)
}

// misfits returns the tools that are refused on their own.
func misfits(tools []model.ToolSpec, suits func([]model.ToolSpec) error) []SetAside {
	err := suits(tools)
	switch {
	case err == nil || event.KindOf(err) != event.ErrInvalid: // a model without tools is no fault of theirs
		return nil
	case len(tools) == 1:
		return []SetAside{{name: tools[0].Name, why: err}}
	}
	half := len(tools) / 2
	return append(misfits(tools[:half], suits), misfits(tools[half:], suits)...)
}

// LeaveFor calls LeftOut on the tools that a model does not get, and fills in their servers.
func (o *Offer) LeaveFor(model string, left []SetAside) error {
	for i := range left {
		optional, ok := o.Tool(left[i].name).(tool.Optional)
		if !ok {
			continue
		}
		told, err := Leave(optional, left[i].name, model, left[i].why)
		if err != nil {
			return err
		}
		left[i] = told
	}
	return nil
}

// NarrowAlso notes the tools that models do not get, beside those of other models. It is safe for concurrent use.
func (o *Offer) NarrowAlso(left map[string][]SetAside) {
	for {
		old := o.Narrow.Load()
		all := left
		if old != nil {
			all = maps.Clone(*old)
			maps.Copy(all, left)
		}
		if o.Narrow.CompareAndSwap(old, &all) {
			return
		}
	}
}

// Told removes the tools that a model does not get.
func (o *Offer) Told(m string, specs []model.ToolSpec, names []string) ([]model.ToolSpec, []string) {
	narrow := o.Narrow.Load()
	if narrow == nil || len((*narrow)[m]) == 0 {
		return specs, names
	}
	without := func(name string) bool {
		return slices.ContainsFunc((*narrow)[m], func(l SetAside) bool { return l.name == name })
	}
	specs = slices.DeleteFunc(slices.Clone(specs), func(t model.ToolSpec) bool { return without(t.Name) })
	return specs, slices.DeleteFunc(slices.Clone(names), without)
}

// Bounds of what the first event of a run lists: tools for each server, bytes of a name and of a reason.
const (
	mostSkipped     = 20
	mostSkippedName = 128
	mostSkippedWhy  = 300
)

// Skipped adds the tools that the agent and its model do not get to their servers.
func (o *Offer) Skipped(model string, servers []event.ToolServer) []event.ToolServer {
	left := o.Missing
	if narrow := o.Narrow.Load(); narrow != nil {
		left = append(slices.Clip(left), (*narrow)[model]...)
	}
	for i := range servers {
		s := &servers[i]
		for _, l := range left {
			if l.server == s.Name {
				s.Skipped = append(s.Skipped, event.SkippedTool{Tool: l.name, Why: l.words()})
			}
		}
		if over := len(s.Skipped) - mostSkipped; over > 0 {
			s.Skipped = append(s.Skipped[:mostSkipped:mostSkipped], event.SkippedTool{Why: "and " + strconv.Itoa(over) + " more"})
		}
		for k := range s.Skipped {
			t := &s.Skipped[k]
			t.Tool, t.Why = shortText(t.Tool, mostSkippedName), shortText(t.Why, mostSkippedWhy)
		}
	}
	return servers
}

// words returns the reason without the details for operators.
func (l *SetAside) words() string {
	if e, ok := errors.AsType[*event.Error](l.why); ok {
		return e.Message
	}
	return "a hook failed: " + l.why.Error()
}

// shortText shortens a text, and makes it valid UTF-8 for every log.
func shortText(s string, most int) string {
	if s = valid(s); len(s) > most {
		s = valid(s[:most-len("…")-utf8.UTFMax]) + "…"
	}
	return s
}

// valid replaces what is not UTF-8 in a text.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Untell is [Offer.Told] for a request that a hook gave to another model. The tool for structured output stays.
func (o *Offer) Untell(r *model.Request, m string) {
	specs, _ := o.Told(m, r.Tools, nil)
	if len(specs) < len(r.Tools) && slices.ContainsFunc(r.Tools, func(t model.ToolSpec) bool { return t.Name == output.ToolName }) {
		specs = slices.DeleteFunc(slices.Clone(r.Tools), func(t model.ToolSpec) bool {
			return t.Name != output.ToolName && !slices.ContainsFunc(specs, func(s model.ToolSpec) bool { return s.Name == t.Name })
		})
	}
	r.Tools = specs
}
