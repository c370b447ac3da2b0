package agents

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/shelltool"
)

// Factory makes agents. It is safe for concurrent use. Make it with [New].
type Factory struct {
	options Options
	// tools are the tools of the options and the file tools.
	tools  []braid.Tool
	skills *skill.Set
	mcp    toolServers
	// first is the default model.
	first braid.Model
	// others are its fallbacks.
	others []braid.Model
	// known are the models that a run may name, as far as their names are known.
	known []service.Model
	// idle are the patterns of the permissions that match no tool.
	idle []string

	named namedModels
	own   ownModels
}

// New returns a factory. It also builds one agent, and returns that agent's error if the options
// cannot make one.
func New(ctx context.Context, o Options) (*Factory, error) {
	if o.Model == nil {
		return nil, &event.Error{Op: "agents", Kind: event.ErrInvalid, Message: "a factory of agents needs a model", Hint: "set Model"}
	}
	if o.Context == (Context{}) {
		o.Context.Window = DefaultWindow
	}
	a := &Factory{
		options: o, first: plainModel{o.Model}, mcp: toolServers{o.Servers}, skills: o.Skills,
	}
	a.tools = slices.Concat(o.Tools, o.Files.Tools(), a.workspaceTools())
	for _, m := range o.Fallback {
		a.others = append(a.others, plainModel{m})
	}
	if a.skills == nil {
		a.skills = &skill.Set{}
	}
	a.known = a.nameable()
	agent, err := a.Agent(ctx, service.AgentRequest{Parts: service.TenantParts{Shell: true}})
	if err != nil {
		return nil, err
	}
	a.idle = o.Permissions.Idle(namesOf(agent.Tools()))
	return a, nil
}

// Agent makes the agent of a run. It is for [service.Options].Agent.
func (a *Factory) Agent(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
	a.mcp.refresh(ctx)
	r.Limits = within(r.Limits, &a.options.Limits)
	parts := slices.Clip(a.options.Parts)
	if r.OutputSchema != nil {
		parts = append(parts, braid.OutputSchema(r.OutputSchema))
	}
	grants := a.grants(&r)
	if p := a.options.Permissions; len(p.Allow)+len(p.Ask)+len(p.Deny) > 0 {
		p.Grants = grants
		parts = append(parts, braid.Permit(p))
	}
	of := &run{grants, r.Parts.MCPStore, newRunSkills(a.skills, &r), &r}
	return a.make(ctx, cmp.Or(r.ID, a.options.Name, DefaultName), of, &r.AgentOptions, r.Skills, parts)
}

// grants returns the store of the permissions that users of the run's tenant gave for always.
func (a *Factory) grants(r *service.AgentRequest) grant.Store {
	if a.options.Grants == nil {
		return nil
	}
	return a.options.Grants(r.Tenant, r.Place.Life)
}

// run is what all agents of a run share.
type run struct {
	grants grant.Store
	store  directory.MCPStore
	skills runSkills
	// request is the run's, with the options of its agent.
	request *service.AgentRequest
}

// make makes an agent with its sub-agents.
func (a *Factory) make(
	ctx context.Context, name string, r *run, o *service.AgentOptions, prefer []string, parts []braid.Part,
) (*braid.Agent, error) {
	s := &a.options
	model, err := a.OpenModel(ctx, o.Model, o.Own)
	if err != nil {
		return nil, err
	}
	parts = append(parts,
		braid.Limit(o.Limits), braid.Options(a.modelOptions(o)),
		braid.Retries(s.Retry), braid.Instructions(o.SystemPrompt),
	)
	if s.Sequential {
		parts = append(parts, braid.Sequential())
	}
	if o.Own == nil { // the operator's models must not replace a tenant's own
		parts = append(parts, a.fallback(model)...)
	}
	for i := range o.Permissions {
		p := &o.Permissions[i]
		parts = append(parts, braid.Permit(braid.Permissions{Allow: p.Allow, Ask: p.Ask, Deny: p.Deny, Grants: r.grants}))
	}
	if a.asksForShell(r, o) {
		parts = append(parts, braid.Permit(braid.Permissions{Ask: []string{shelltool.Name}, Grants: r.grants}))
	}
	given, own, err := a.given(o, r, prefer)
	if err != nil {
		return nil, err
	}
	tenants, more, err := tenantServers{s.TenantServers}.parts(ctx, o, r, own)
	if err != nil {
		return nil, err
	}
	parts = append(append(parts, given...), tenants...)
	below, err := a.subAgents(ctx, r, o)
	if err != nil {
		return nil, err
	}
	parts = append(parts, below...)
	keeps := s.Context
	keeps.How = cmp.Or(o.Context, keeps.How)
	if keeps.SearchAbove == 0 && more > 0 && len(own)+more > TenantSearchAbove {
		keeps.SearchAbove = TenantSearchAbove
	}
	works := len(own)+more+len(o.SubAgents) > 0 || s.Servers != nil && o.Tools == nil
	agent := braid.New(name, model, append(parts, keeps.Parts(works)...)...)
	return agent, agent.Err()
}

// modelOptions returns the options of an agent's model calls.
func (a *Factory) modelOptions(o *service.AgentOptions) model.Options {
	asked := a.options.ModelOptions
	if o.Own != nil || o.Model != "" {
		asked = elsewhere(asked)
	}
	return o.ModelOptions(asked)
}

// fallback returns the part that tries the other models if this one fails.
func (a *Factory) fallback(model braid.Model) []braid.Part {
	others := slices.DeleteFunc(slices.Clone(a.others), func(m braid.Model) bool { return m.Info().Name == model.Info().Name })
	if len(others) == 0 {
		return nil
	}
	return []braid.Part{braid.Fallback(a.options.FallbackOn, others...)}
}

// elsewhere removes the options that the operator set for the server's own model only: another
// model may belong to another vendor or be on another bill.
func elsewhere(o model.Options) model.Options {
	o.ServiceTier, o.ServerTools, o.Extra, o.Headers = "", nil, nil, nil
	return o
}

// given returns the tools that the server gives an agent: those that match one of its patterns, or
// all. own are the tools themselves.
func (a *Factory) given(
	o *service.AgentOptions, r *run, prefer []string,
) (parts []braid.Part, own []braid.Tool, err error) {
	all := o.Tools == nil
	skills, err := r.skills.chosen(o, prefer)
	if err != nil {
		return nil, nil, err
	}
	if a.hasShell(r, o) || !r.request.Parts.NoWorkspace && len(reached(a.workspaceTools(), o.Tools)) > 0 {
		skills = skills.CopyTo(intoWorkspace)
	}
	offered := a.offered(r, o)
	tools, far := offered, a.mcp.tools()
	if all {
		parts = append(parts, a.mcp.parts()...)
		own = append(own, far...)
	} else {
		far = chosen(far, o.Tools)
		tools = append(chosen(offered, o.Tools), far...)
		parts = append(parts, a.mcp.announced(far, lacks(o.Tools, append(skills.Tools(), tools...))))
	}
	own = append(append(own, tools...), skills.Tools()...)
	return append(parts, braid.From(skills), braid.Tools(tools...)), own, nil
}

// lacks reports whether one of the patterns matches no tool.
func lacks(patterns []string, tools []braid.Tool) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return len(chosen(tools, []string{pattern})) == 0 })
}

// chosen returns the tools whose names match one of the patterns.
func chosen(tools []braid.Tool, patterns []string) []braid.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t braid.Tool) bool {
		return !matches(t.Spec().Name, patterns)
	})
}

// matches reports whether a name matches one of the patterns.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { fits, _ := path.Match(pattern, name); return fits })
}

// OpenModel opens the model of an agent: the server's own for "", a model that a run names, or the
// directory's model own. It is for [service.Options].OpenModel.
func (a *Factory) OpenModel(_ context.Context, ref string, own *service.OwnModel) (braid.Model, error) {
	switch {
	case own != nil:
		return a.openOwn(own)
	case ref == "" || ref == a.options.ModelRef:
		return a.first, nil
	}
	return a.openNamed(ref)
}

// Models returns the models that a run may name. It is for [service.Options].Models.
func (a *Factory) Models(context.Context) []service.Model { return slices.Clone(a.known) }

// Servers returns the state of the MCP servers.
func (a *Factory) Servers() []event.ToolServer { return a.mcp.status() }

// Idle returns the patterns of the permissions that matched no tool when the factory was made. They
// have no effect.
func (a *Factory) Idle() []string { return slices.Clone(a.idle) }
