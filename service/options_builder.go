package service

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
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
}

// AgentOptions are the options of an agent.
type AgentOptions struct {
	// ID is the directory's id. The server's own agent has none.
	ID string
	// Version is the directory's version. The server's own agent has none.
	Version int
	// Description tells the model of a parent agent what this agent is for.
	Description string
	// SystemPrompt consists of the tenant's prompt, the agent's instructions and the workspace's
	// part, in this order. Skills add their part below it.
	SystemPrompt string
	// Model is a provider and a name. Empty means the server's own model.
	Model string
	// Own is the directory's entry of that model. nil means that the server resolves Model.
	Own *OwnModel
	// Limits are the lowest of the service's, the tenant's, the agent's and the request's.
	Limits braid.Limits
	// Tools are names or patterns of the server's tools. nil means all, an empty list means none.
	Tools []string
	// MCPServers are the tenant's MCP servers that the agent uses, with the run's headers.
	MCPServers []directory.ResolvedMCPServer
	// Permissions all apply: the strictest one wins.
	Permissions []directory.Permissions
	// Skills are the skills that the agent prefers, after the request's.
	Skills []string
	// Settings are the settings of its model calls. The agent's own override those of the model's
	// entry. [AgentOptions.ModelOptions] applies them to the server's.
	Settings directory.Settings
	// Context says how long conversations are compacted: summary, window, provider or none. Empty
	// means the server's default.
	Context string
	// SubAgents are the agents that it has as tools, by the name of the tool.
	SubAgents map[string]*AgentOptions
}

// OwnModel is a model of the directory with the key for its provider. An empty key means that the
// server uses its own environment.
type OwnModel struct {
	directory.Model

	Key secret.Secret
}

// Workspace describes the folder of files that a run works with.
type Workspace struct {
	// Path is the folder's name for the agent's tools.
	Path string
	// Files are the files in it.
	Files []WorkspaceFile
	// More counts the files that are not listed.
	More int
	// Instructions say how the tools access it.
	Instructions string
}

// WorkspaceFile describes a file.
type WorkspaceFile struct {
	Name  string
	Bytes int64
}

// Build makes the options of a run's agent. Its errors are those of [directory.Directory.Model] and
// [directory.Directory.Agent].
func (b *OptionsBuilder) Build(ctx context.Context, x *ExecutionContext) (AgentRequest, error) {
	r := AgentRequest{
		Principal: x.Principal, Place: RunPlace{x.Tenant.Life, x.Conversation, x.Run}, OutputSchema: x.OutputSchema,
		Skills: x.Skills, Tokens: x.Tokens,
	}
	if b.Directory != nil {
		r.MCPStore = b.Directory
	}
	spec := &x.Agent.AgentSpec
	a, err := b.agent(ctx, x, spec, cmp.Or(x.Model, spec.Model, x.Tenant.Model), []string{x.Agent.ID})
	if err != nil {
		return AgentRequest{}, err
	}
	var files *Workspace
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
			a.SubAgents = make(map[string]*AgentOptions, len(spec.SubAgents))
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
) (*AgentOptions, error) {
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
	a.Limits = within(braid.Limits{}, &spec.Limits)
	a.Permissions = permissions(&spec.Permissions)
	return a, nil
}

// SystemPrompt joins the parts of a system prompt: the tenant's, the agent's instructions and the
// workspace's part. It leaves out empty parts.
func SystemPrompt(tenant, agent string, files *Workspace) string {
	parts := []string{strings.TrimSpace(tenant), strings.TrimSpace(agent)}
	if files != nil {
		parts = append(parts, files.prompt())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// prompt returns the workspace's part of the system prompt. Users choose file names, so these stand
// between tags that they cannot close.
func (w *Workspace) prompt() string {
	var text strings.Builder
	text.WriteString("<workspace>\nThe files of this conversation are in " + plain(w.Path) + ".")
	if w.Instructions != "" {
		text.WriteString(" " + w.Instructions)
	}
	if len(w.Files) == 0 {
		text.WriteString("\nThere are none yet.")
	}
	for _, f := range w.Files {
		text.WriteString("\n- " + plain(f.Name) + " (" + strconv.FormatInt(f.Bytes, 10) + " bytes)")
	}
	if w.More > 0 {
		text.WriteString("\nand " + strconv.Itoa(w.More) + " more.")
	}
	return text.String() + "\n</workspace>"
}

// plain returns a name as one line without tags.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1
		case r == '<' || r == '>':
			return '_'
		}
		return r
	}, name)
}

// within lowers limits to those of d.
func within(l braid.Limits, d *directory.Limits) braid.Limits {
	lower(&l.Cycles, d.Cycles)
	lower(&l.AllCycles, d.Cycles)
	lower(&l.ToolCalls, d.ToolCalls)
	lower(&l.AllToolCalls, d.ToolCalls)
	lower(&l.InputTokens, d.InputTokens)
	lower(&l.OutputTokens, d.OutputTokens)
	lower(&l.TotalTokens, d.TotalTokens)
	lower(&l.CostNanoUSD, int64(d.Cost))
	lower(&l.Active, time.Duration(min(int64(d.Seconds), int64(mostTime/time.Second)))*time.Second)
	return l
}

// mostTime keeps a number of seconds within the range of a duration.
const mostTime = 1<<63 - 1

// lower sets a bound to the smaller of two. 0 means no bound.
func lower[N int | int64 | time.Duration](bound *N, to N) {
	if to > 0 && (*bound == 0 || to < *bound) {
		*bound = to
	}
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
