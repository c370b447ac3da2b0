package braid

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// setAside is an optional tool that an agent, or one of its models, does without.
type setAside struct {
	server string
	name   string
	why    error
}

// leave tells a tool that it is left out for a model; "" means for the agent.
func leave(t tool.Optional, name, model string, why error) (setAside, error) {
	l := setAside{name: name, why: why}
	err := shielded("tool "+name, "a tool that is left out", func() error {
		l.server = t.Server()
		t.LeftOut(model, why)
		return nil
	})
	return l, err
}

// attachTool adds one tool to the draft.
func (a *Agent) attachTool(t Tool) error {
	if err := tool.ErrOf(t); err != nil {
		return err
	}
	spec := t.Spec()
	err := tool.CheckSchema(spec)
	if err == nil {
		err = a.draft.add(a.set.name, t, spec)
	}
	optional, ok := t.(tool.Optional)
	if err == nil || !ok {
		return err
	}
	left, err := leave(optional, spec.Name, "", err)
	a.draft.missing = append(a.draft.missing, left)
	return err
}

// giveWay takes an optional tool out of the draft whose name another tool is to have. It reports whether there
// was one.
func (o *offer) giveWay(agent, name string) bool {
	optional, ok := o.tool(name).(tool.Optional)
	if !ok {
		return false
	}
	left, err := leave(optional, name, "", twoCalled(agent, name))
	if err != nil {
		return false
	}
	o.missing = append(o.missing, left)
	o.remove([]string{name})
	return true
}

// suiting finds the optional tools that a model cannot be told of, so that suits, which checks a request with the tools that
// it is given, finds nothing wrong with the others. The error is of what is not optional.
func (o *offer) suiting(clash string, suits func(tools []model.ToolSpec) error) (left []setAside, err error) {
	var own, optional []model.ToolSpec
	for i, t := range o.tools {
		_, ok := t.(tool.Optional)
		switch {
		case ok && o.names[i] == clash:
			left = append(left, setAside{name: clash, why: &event.Error{
				Op: "tool " + clash, Kind: event.ErrInvalid, Message: "the tool that takes the agent's answer has this name", Hint: "rename it",
			}})
		case ok:
			optional = append(optional, o.specs[i])
		default:
			own = append(own, o.specs[i])
		}
	}
	all := o.specs
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

// misfits finds the tools that are refused one by one.
func misfits(tools []model.ToolSpec, suits func([]model.ToolSpec) error) []setAside {
	err := suits(tools)
	switch {
	case err == nil || event.KindOf(err) != event.ErrInvalid: // a model without tools is no fault of theirs
		return nil
	case len(tools) == 1:
		return []setAside{{name: tools[0].Name, why: err}}
	}
	half := len(tools) / 2
	return append(misfits(tools[:half], suits), misfits(tools[half:], suits)...)
}

// leaveFor tells the tools that a model is not told of, and gives what is left out with their servers.
func (o *offer) leaveFor(model string, left []setAside) error {
	for i := range left {
		optional, ok := o.tool(left[i].name).(tool.Optional)
		if !ok {
			continue
		}
		told, err := leave(optional, left[i].name, model, left[i].why)
		if err != nil {
			return err
		}
		left[i] = told
	}
	return nil
}

// told takes out of what an agent shows what its model is not told of.
func (o *offer) told(m string, specs []model.ToolSpec, names []string) ([]model.ToolSpec, []string) {
	narrow := o.narrow.Load()
	if narrow == nil || len((*narrow)[m]) == 0 {
		return specs, names
	}
	without := func(name string) bool {
		return slices.ContainsFunc((*narrow)[m], func(l setAside) bool { return l.name == name })
	}
	specs = slices.DeleteFunc(slices.Clone(specs), func(t model.ToolSpec) bool { return without(t.Name) })
	return specs, slices.DeleteFunc(slices.Clone(names), without)
}

// What the first event of a run tells of tools that are left out: so many of each server, in so many bytes.
const (
	mostSkipped     = 20
	mostSkippedName = 128
	mostSkippedWhy  = 300
)

// skipped adds to servers the tools that the agent and its model do without.
func (o *offer) skipped(model string, servers []event.ToolServer) []event.ToolServer {
	left := o.missing
	if narrow := o.narrow.Load(); narrow != nil {
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

// words are the reason without what is for operators.
func (l *setAside) words() string { return hookError(l.why).Message }

// shortText is the beginning of a text, as every log can keep it.
func shortText(s string, most int) string {
	if s = validText(s); len(s) > most {
		s = validText(s[:most-len("…")-utf8Max]) + "…"
	}
	return s
}

const utf8Max = 4

// untold is told for a request that a hook has made another model's. The tool that takes the answer stays.
func (o *offer) untold(r *model.Request, m string) {
	specs, _ := o.told(m, r.Tools, nil)
	if len(specs) < len(r.Tools) && slices.ContainsFunc(r.Tools, func(t model.ToolSpec) bool { return t.Name == OutputTool }) {
		specs = slices.DeleteFunc(slices.Clone(r.Tools), func(t model.ToolSpec) bool {
			return t.Name != OutputTool && !slices.ContainsFunc(specs, func(s model.ToolSpec) bool { return s.Name == t.Name })
		})
	}
	r.Tools = specs
}
