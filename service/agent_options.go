package service

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
)

// AgentRequest describes the agent that a run needs. The [OptionsBuilder] makes it.
type AgentRequest struct {
	Principal
	AgentOptions

	// Place is the run's place in the service.
	Place RunPlace
	// OutputSchema is the JSON schema of the answer; nil means free text.
	OutputSchema json.RawMessage
	// Skills are the skills that the caller prefers.
	Skills []string
	// Tokens are the caller's tokens for this run. They exist only in memory: if another process
	// continues the run, there are none.
	Tokens map[string]secret.Secret
	// Parts are what the tenant brings along.
	Parts TenantParts
}

// TenantParts are what a tenant brings along for its agents, beside the MCP servers of each agent.
type TenantParts struct {
	// MCPStore has the documents and secret headers of MCP servers. nil means that there are none.
	MCPStore directory.MCPStore
	// Skills are the tenant's skills, active or not. Agents get the active ones.
	Skills []directory.Skill
	// SkillFiles opens the skills. nil means that there are none.
	SkillFiles *skillpack.Store
	// NoWorkspace reports that the run has no workspace, so that the tools for files have nothing to work on.
	NoWorkspace bool
	// Shell reports that the tenant's policy allows commands. An agent of the tenant must also name the tool.
	Shell bool
}

// RunPlace says where a run belongs.
type RunPlace struct {
	// Life distinguishes tenants that reuse one id. Data that outlives the run must be kept by the
	// tenant's id and its life. It is empty without a directory.
	Life         string
	Conversation string
	// Run is the run's id. It is empty until the run is accepted.
	Run string
	// Accepted reports that the run was accepted before. A skill that it prefers and that is gone by now
	// does not refuse it.
	Accepted bool
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
	// SubAgents are the agents that it has as tools, by the name of the tool, or as types of the Task tool.
	SubAgents map[string]*SubAgentOptions
}

// SubAgentOptions are the options of an agent below another one.
type SubAgentOptions struct {
	AgentOptions

	// Task makes the agent a type of its parent's Task tool. nil makes it a tool.
	Task *TaskOptions
}

// TaskOptions are those of an agent that its parent calls with the Task tool.
type TaskOptions struct {
	// Models are aliases of models that a call may name, as examples.
	Models []string
	// Background says whether calls may be in the background. Empty means that they may not.
	Background directory.Background
	// Choose returns the options of the agent with another model, by the model's id or an alias. It
	// returns the errors of [directory.Directory.Model], and is safe for concurrent use.
	Choose func(ctx context.Context, model string) (*AgentOptions, error)
}

// OwnModel is a model of the directory with the key for its provider. An empty key means that the
// server uses its own environment.
type OwnModel struct {
	directory.Model

	Key secret.Secret
}
