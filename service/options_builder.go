package service

import (
	"cmp"
	"context"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
	"github.com/braidrun/braid/workspace"
)

// DefaultTenant is the tenant of a server without settings. Its runs may name models by provider
// and name that the directory does not know.
const DefaultTenant = directory.DefaultTenant

// OptionsBuilder makes the options of an agent from an [ExecutionContext]: the system prompt, the
// model with its key, the limits, tools, permissions and sub-agents. It starts nothing.
type OptionsBuilder struct {
	// Directory has the models and agents. If it is nil the server resolves every name itself.
	Directory *directory.Directory
	// Instructions are the instructions of the server's own agent.
	Instructions string
	// Workspace returns the files that a run works with. nil means that there are none.
	Workspace func(ctx context.Context, x *ExecutionContext) (*Workspace, error)

	// workspaces store the files of conversations. nil means that there are none.
	workspaces workspace.Backend
	// skills store the files of tenants' skills.
	skills *skillpack.Store
	// artifacts store those of all conversations.
	artifacts *artifact.Store
}

// Build makes the options of a run's agent. Its errors are those of [directory.Directory.Model] and
// [directory.Directory.Agent].
func (b *OptionsBuilder) Build(ctx context.Context, x *ExecutionContext) (AgentRequest, error) {
	r := AgentRequest{
		Principal: x.Principal, Place: RunPlace{x.Tenant.Life, x.Conversation, x.Run, x.Accepted}, OutputSchema: x.OutputSchema,
		Skills: x.Skills, Tokens: x.Tokens,
	}
	if b.Directory != nil {
		r.Parts = TenantParts{MCPStore: b.Directory, SkillFiles: b.skills}
		var err error
		if r.Parts.Skills, err = b.Directory.Skills(ctx, x.Tenant.ID); err != nil {
			return AgentRequest{}, err
		}
	}
	r.Parts.NoWorkspace, r.Parts.Shell = x.hasNoFiles(), b.allowsShell(x)
	spec := &x.Agent.AgentSpec
	a, err := b.agent(ctx, x, spec, cmp.Or(x.Model, spec.Model, x.Tenant.Model), []string{x.Agent.ID})
	if err != nil {
		return AgentRequest{}, err
	}
	if err := allowsOwn(&x.Tenant.Policy, &x.own, a.Own); err != nil {
		return AgentRequest{}, err
	}
	var files *Workspace
	if b.workspaces != nil && x.Conversation != "" && !x.hasNoFiles() {
		x.Files = openFiles(b.workspaces, x.Key())
	}
	if b.Workspace != nil {
		if files, err = b.Workspace(ctx, x); err != nil {
			return AgentRequest{}, err
		}
	}
	a.ID, a.Version = x.Agent.ID, x.Agent.Version
	instructions := spec.Instructions
	if x.Agent.ID == "" {
		instructions = b.Instructions
	}
	a.SystemPrompt = SystemPrompt(x.Tenant.SystemPrompt, instructions, files)
	a.Limits = within(within(x.Limits, &x.Tenant.Limits), &spec.Limits)
	a.Permissions = permissions(&x.Tenant.Policy.Permissions, &spec.Permissions)
	r.AgentOptions = *a
	return r, nil
}

// agent makes the options of one agent. path lists the agents above it, none of which may be below
// it. The directory refuses such cycles, but a pinned older version can have one after a change
// below it.
func (b *OptionsBuilder) agent(
	ctx context.Context, x *ExecutionContext, spec *directory.AgentSpec, model string, path []string,
) (*AgentOptions, error) {
	a := &AgentOptions{Description: spec.Description, Tools: spec.Tools, Skills: spec.Skills, Context: spec.Context}
	var err error
	if a.Model, a.Own, err = b.model(ctx, x, model); err != nil {
		return nil, err
	}
	if a.Settings, err = settingsOf(&x.Tenant.Policy, &spec.Settings, a.Own); err != nil {
		return nil, err
	}
	if a.MCPServers, err = b.mcpServers(ctx, x, spec); err != nil {
		return nil, err
	}
	for name, sub := range spec.SubAgents {
		if len(path) > directory.MostNested || sub.Agent != "" && slices.Contains(path, sub.Agent) {
			continue
		}
		below, err := b.subAgent(ctx, x, &sub, above{spec, model}, path)
		if err != nil {
			return nil, err
		}
		if a.SubAgents == nil {
			a.SubAgents = make(map[string]*SubAgentOptions, len(spec.SubAgents))
		}
		a.SubAgents[name] = below
	}
	return a, nil
}

// above is what a sub-agent takes from its parent.
type above struct {
	spec  *directory.AgentSpec
	model string
}

// subAgent makes the options of a sub-agent. The tenant's system prompt applies to it too. Its
// model is its own, or else its parent's. One that is described in its parent has the parent's MCP
// servers.
func (b *OptionsBuilder) subAgent(
	ctx context.Context, x *ExecutionContext, sub *directory.SubAgent, parent above, path []string,
) (*SubAgentOptions, error) {
	spec := directory.AgentSpec{
		Description: sub.Description, Instructions: sub.Instructions, Tools: sub.Tools, MCPServers: parent.spec.MCPServers,
	}
	var id string
	var version int
	if sub.Agent != "" {
		a, err := b.Directory.Agent(ctx, x.Tenant.ID, sub.Agent, sub.Version)
		if err != nil {
			return nil, err
		}
		spec, id, version = a.AgentSpec, a.ID, a.Version
		spec.Description = cmp.Or(sub.Description, spec.Description)
	}
	a, err := b.agent(ctx, x, &spec, cmp.Or(sub.Model, spec.Model, parent.model), append(slices.Clip(path), id))
	if err != nil {
		return nil, err
	}
	a.ID, a.Version = id, version
	a.SystemPrompt = SystemPrompt(x.Tenant.SystemPrompt, spec.Instructions, nil)
	a.Limits = within(within(braid.Limits{}, &spec.Limits), &sub.Limits)
	a.Permissions = permissions(&spec.Permissions)
	below := &SubAgentOptions{AgentOptions: *a}
	if sub.Via == directory.ViaTask {
		below.Task = b.task(ctx, x, &spec.Settings, a)
		below.Task.Background = sub.Background
	}
	return below, nil
}

// permissions returns the non-empty ones.
func permissions(of ...*directory.Permissions) (list []directory.Permissions) {
	for _, p := range of {
		if len(p.Allow)+len(p.Ask)+len(p.Deny) > 0 {
			list = append(list, *p)
		}
	}
	return list
}
