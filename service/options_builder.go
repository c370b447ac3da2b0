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

// DefaultTenant is the one that a server without settings serves. Its runs may name models by
// provider and name where the directory does not know them.
const DefaultTenant = directory.DefaultTenant

// OptionsBuilder makes of an [ExecutionContext] what its agent is made with: the system prompt,
// the model with its key, the limits, tools, permissions and sub-agents. It decides and begins
// nothing.
type OptionsBuilder struct {
	// Directory knows models and agents; nil means that there is none, and then the server
	// resolves every name itself.
	Directory *directory.Directory
	// Instructions are those of the server's own agent.
	Instructions string
	// Workspace tells of the files that a run works with; nil means that there are none.
	Workspace func(ctx context.Context, x *ExecutionContext) (*Workspace, error)
}

// AgentOptions are what an agent is made with.
type AgentOptions struct {
	// ID and Version are the directory's; the server's own agent has none.
	ID      string
	Version int
	// Description is what the model of another agent is told that it is for.
	Description string
	// SystemPrompt is the tenant's, the agent's own instructions and the workspace's part,
	// in this order. What tells of skills stands below it.
	SystemPrompt string
	// Model is the reference of its model: a provider and a name. Empty means the server's own.
	Model string
	// Own is the directory's entry of that model; nil means that the server knows what Model is.
	Own *OwnModel
	// Limits are the least of those of the service, the tenant, the agent and the request.
	Limits braid.Limits
	// Tools are names or patterns of the server's tools that it has; nil means all, an empty
	// list none.
	Tools []string
	// Permissions all hold: the strictest counts.
	Permissions []directory.Permissions
	// Skills are those that the agent prefers, after the request's.
	Skills []string
	// Settings are those of its model's calls: the agent's own go before those of the model's entry.
	// [AgentOptions.ModelOptions] lays them over the server's.
	Settings directory.Settings
	// Context says what becomes of the oldest messages where a conversation grows too long: summary, window,
	// provider or none; empty means what the server does.
	Context string
	// SubAgents are agents that it has as tools, by the name of the tool.
	SubAgents map[string]*AgentOptions
}

// OwnModel is a model of the directory, with the key that its provider is asked with; an empty
// one means what the server finds in its own environment.
type OwnModel struct {
	directory.Model

	Key secret.Secret
}

// Workspace is the folder of files that a run works with.
type Workspace struct {
	// Path is what the agent's tools call the folder.
	Path string
	// Files are what is in it, by name.
	Files []WorkspaceFile
	// More is how many others there are.
	More int
	// Instructions say how the tools reach it.
	Instructions string
}

// WorkspaceFile is one file.
type WorkspaceFile struct {
	Name  string
	Bytes int64
}

// Build makes them. The errors are those of [directory.Directory.Model] and of its agents.
func (b *OptionsBuilder) Build(ctx context.Context, x *ExecutionContext) (AgentRequest, error) {
	r := AgentRequest{
		Principal: x.Principal, Life: x.Tenant.Life, Conversation: x.Conversation, Run: x.Run, OutputSchema: x.OutputSchema,
		Skills: x.Skills, Tokens: x.Tokens,
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

// agent makes the options of one agent. path are the agents that it stands in: none of them is in
// itself. The directory refuses such agents; an older version of one that a conversation keeps to may have come to it
// by a change below it.
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
	for name, sub := range spec.SubAgents {
		if len(path) > directory.MostNested || sub.Agent != "" && slices.Contains(path, sub.Agent) {
			continue
		}
		below, err := b.subAgent(ctx, x, &sub, model, path)
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

// subAgent makes the options of an agent that another one has as a tool. What its tenant says to
// every agent it is told, too; its model is its own, or else that of the agent above it.
func (b *OptionsBuilder) subAgent(
	ctx context.Context, x *ExecutionContext, sub *directory.SubAgent, above string, path []string,
) (*AgentOptions, error) {
	spec := directory.AgentSpec{Description: sub.Description, Instructions: sub.Instructions, Tools: sub.Tools}
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
	a, err := b.agent(ctx, x, &spec, cmp.Or(sub.Model, spec.Model, above), append(slices.Clip(path), id))
	if err != nil {
		return nil, err
	}
	a.ID, a.Version = id, version
	a.SystemPrompt = SystemPrompt(x.Tenant.SystemPrompt, spec.Instructions, nil)
	a.Limits = within(braid.Limits{}, &spec.Limits)
	a.Permissions = permissions(&spec.Permissions)
	return a, nil
}

// SystemPrompt puts the parts of a system prompt under one another: the tenant's, the agent's own
// instructions, and what tells of the workspace. Empty parts are left out.
func SystemPrompt(tenant, agent string, files *Workspace) string {
	parts := []string{strings.TrimSpace(tenant), strings.TrimSpace(agent)}
	if files != nil {
		parts = append(parts, files.prompt())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// prompt tells an agent of its files. What people called them is theirs: it stands between tags
// that it cannot close.
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

// plain makes a name one line without tags.
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

// within lowers limits to what else is allowed.
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

// mostTime keeps a count of seconds from being more than a duration holds.
const mostTime = 1<<63 - 1

// lower makes a bound, of which 0 is none, the smaller of two.
func lower[N int | int64 | time.Duration](bound *N, to N) {
	if to > 0 && (*bound == 0 || to < *bound) {
		*bound = to
	}
}

// permissions are those that say something.
func permissions(of ...*directory.Permissions) (list []directory.Permissions) {
	for _, p := range of {
		if len(p.Allow)+len(p.Ask)+len(p.Deny) > 0 {
			list = append(list, *p)
		}
	}
	return list
}
