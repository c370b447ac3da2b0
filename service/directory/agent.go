package directory

import "time"

// Agent is an agent of a tenant. Its versions are added and never changed, and a conversation is
// pinned to one of them.
type Agent struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	// Life distinguishes agents that reuse one id in tenants that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Version is the version of the spec: 1, 2, 3 …
	Version int `json:"version"`
	// Newest is the last version that exists.
	Newest    int `json:"newest_version"`
	AgentSpec     //nolint:embeddedstructfieldcheck // the order of the JSON
	// Revision counts the changes, including those of the status.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	// Updated is the time of the last change, not of the version.
	Updated time.Time `json:"updated_at"`
}

// AgentSpec is the content of a version of an agent.
type AgentSpec struct {
	// Name is the name for users.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Instructions are the agent's part of the system prompt, after the tenant's.
	Instructions string `json:"instructions,omitempty"`
	// Model is the id or an alias of its model. Empty means the tenant's.
	Model string `json:"model,omitempty"`
	// Tools are names or patterns of the server's tools. nil means all that the server gives, an
	// empty list means none.
	Tools []string `json:"tools,omitzero"`
	// MCPServers are the ids of the tenant's MCP servers that it uses. nil means all active ones, an
	// empty list means none.
	MCPServers  []string    `json:"mcp_servers,omitzero"`
	Permissions Permissions `json:"permissions,omitzero"`
	Limits      Limits      `json:"limits,omitzero"`
	// Skills are the names of the skills that it prefers.
	Skills []string `json:"skills,omitempty"`

	// Settings override those of its model. Its sub-agents have their own.
	Settings //nolint:embeddedstructfieldcheck // JSON has them here

	// Context says how long conversations are compacted: summary, window, provider or none. Empty
	// means the server's default.
	Context string `json:"context,omitempty"`
	// SubAgents are agents that it may use as tools, by the name of the tool. The tree of
	// sub-agents has no duplicate names, no cycles and at most [MostNested] levels.
	SubAgents map[string]SubAgent `json:"sub_agents,omitempty"`
}

// SubAgent is an agent that another one uses as a tool: one of the tenant's agents, or one that is
// described here.
type SubAgent struct {
	// Agent is the id of one of the tenant's agents. It is empty for an agent that is described here.
	Agent string `json:"agent,omitempty"`
	// Version pins its version. 0 means the newest.
	Version int `json:"version,omitempty"`
	// Description tells the parent's model what it is for.
	Description string `json:"description,omitempty"`
	// Model is the id or an alias of a model that overrides the agent's own.
	Model string `json:"model,omitempty"`
	// Instructions are those of an agent that is described here.
	Instructions string `json:"instructions,omitempty"`
	// Tools are those of an agent that is described here.
	Tools []string `json:"tools,omitempty"`
	// Limits bound its work beside the agent's own. The lower bound counts.
	Limits Limits `json:"limits,omitzero"`
	// Via says how it is called. Empty means [ViaTool].
	Via Via `json:"via,omitempty"`
	// Background says whether calls of the Task tool may be in the background. Empty means that they may not.
	Background Background `json:"background,omitempty"`
}

// Background says what becomes of work in the background when the run is done.
type Background string

// The possibilities.
const (
	// BackgroundAwait has the run wait for it.
	BackgroundAwait Background = "await"
	// BackgroundStop has it cancelled.
	BackgroundStop Background = "stop"
)

// Via says how an agent calls another one.
type Via string

// The ways.
const (
	// ViaTool makes it a tool of its own.
	ViaTool Via = "tool"
	// ViaTask makes it a type of the Task tool. A call may choose any model that the tenant may use.
	ViaTask Via = "task"
)

// TaskTool is the name of the Task tool.
const TaskTool = "Task"

// hasTask reports whether the agent has the Task tool.
func (s *AgentSpec) hasTask() bool {
	for _, sub := range s.SubAgents {
		if sub.Via == ViaTask {
			return true
		}
	}
	return false
}

// AgentVersion is one version of an agent.
type AgentVersion struct {
	Version   int       `json:"version"`
	Created   time.Time `json:"created_at"`
	AgentSpec           //nolint:embeddedstructfieldcheck // the order of the JSON
}

type agentKey struct {
	tenant, id string
	version    int
}
