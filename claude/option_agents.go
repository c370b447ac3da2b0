package claude

import (
	"encoding/json"
	"maps"
)

// Agent is a sub-agent that the model can start with the Task tool.
type Agent struct {
	// Description tells the model when to use it.
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	// Tools are its tools; all of the main agent's for none.
	Tools       []string `json:"tools,omitempty"`
	DeniedTools []string `json:"disallowedTools,omitempty"`
	// Model is a name, an alias or "inherit".
	Model      string            `json:"model,omitempty"`
	Servers    []json.RawMessage `json:"mcpServers,omitempty"`
	Skills     []string          `json:"skills,omitempty"`
	MaxTurns   int               `json:"maxTurns,omitempty"`
	Background bool              `json:"background,omitempty"`
	// Memory is user, project or local; empty for none.
	Memory         string `json:"memory,omitempty"`
	Effort         string `json:"effort,omitempty"`
	PermissionMode string `json:"permissionMode,omitempty"`
	OmitClaudeMD   bool   `json:"omitClaudeMd,omitempty"`
	Observer       string `json:"observer,omitempty"`
}

// Agents adds sub-agents by their names.
func Agents(agents map[string]Agent) Option { return func(c *config) { c.agents = maps.Clone(agents) } }

// MainAgent has one of the agents work as the main agent.
func MainAgent(name string) Option { return func(c *config) { c.agent = name } }

// ForwardSubagentText also sends the texts and thoughts of sub-agents.
func ForwardSubagentText() Option { return func(c *config) { c.output.forward = true } }

// AgentProgressSummaries adds summaries to [TaskProgress]. They cost model calls.
func AgentProgressSummaries() Option { return func(c *config) { c.output.summaries = true } }

// StoppableTasks says that the user can stop single tasks with [Client.StopTask], so an interrupt spares those in the
// background.
func StoppableTasks() Option { return func(c *config) { c.output.stoppable = true } }
