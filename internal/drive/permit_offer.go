package drive

import (
	"slices"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/permission"
	"github.com/braidrun/braid/model"
)

// Denies reports whether a policy of the agent itself lets nobody call the tool.
func (a *Agent) Denies(tool string) bool {
	return slices.ContainsFunc(a.Permits, func(p *permission.Policy) bool { return p.Effect(tool) == permission.Deny })
}

// allowed leaves tools out of what a scope's model is shown that are denied there, by the agent's own
// policies or by those above it: a model that sees a tool calls it. What the model asks for all the same is
// refused as ever. A list is looked through once.
func (d *activeRun) allowed(s *fold.Scope, specs []model.ToolSpec, names []string) ([]model.ToolSpec, []string) {
	if !d.cfg.policed || len(specs) == 0 {
		return specs, names
	}
	t := d.thread(s)
	v := t.visible
	if v != nil && len(v.of) == len(specs) && &v.of[0] == &specs[0] {
		return v.specs, v.names
	}
	hidden := func(name string) bool {
		do, _ := d.permission(s, name)
		return do == permission.Deny
	}
	v = &visible{of: specs, specs: specs, names: names}
	t.visible = v
	if slices.ContainsFunc(names, hidden) {
		v.names = slices.DeleteFunc(slices.Clone(names), hidden)
	}
	if slices.ContainsFunc(specs, func(t model.ToolSpec) bool { return hidden(t.Name) }) {
		v.specs = slices.DeleteFunc(slices.Clone(specs), func(t model.ToolSpec) bool { return hidden(t.Name) })
	}
	return v.specs, v.names
}
