package claude

import "encoding/json"

// Init describes the session. The program repeats it at each turn, and leaves it out where it cannot start.
type Init struct {
	Head
	Dir            string      `json:"cwd"`
	Model          string      `json:"model"`
	Tools          []string    `json:"tools"`
	MCPServers     []MCPServer `json:"mcp_servers"`
	PermissionMode string      `json:"permissionMode"`
	Commands       []string    `json:"slash_commands"`
	Agents         []string    `json:"agents"`
	Skills         []string    `json:"skills"`
	KeySource      string      `json:"apiKeySource"`
	Version        string      `json:"claude_code_version"`
	OutputStyle    string      `json:"output_style"`
	Capabilities   []string    `json:"capabilities"`
	Betas          []string    `json:"betas"`
	Effort         string      `json:"effort"`
}

// MCPServer is a server of tools and its state: connected, failed, needs-auth, pending or disabled.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Source string `json:"source"`
	Error  string `json:"error"`
}

// TaskStarted says that a sub-agent or a background shell began.
type TaskStarted struct {
	Head
	Task
	Description string `json:"description"`
	Background  bool   `json:"is_backgrounded"`
	// Depth is 1 for a sub-agent of the main agent.
	Depth    int    `json:"spawn_depth"`
	Parent   string `json:"parent_task_id"`
	TaskType string `json:"task_type"`
	Prompt   string `json:"prompt"`
}

// Task names a sub-agent or a background shell.
type Task struct {
	// TaskID is the agent's id. ToolUseID is the call that started it.
	TaskID    string `json:"task_id"`
	RunID     string `json:"run_id"`
	ToolUseID string `json:"tool_use_id"`
	Subagent  string `json:"subagent_type"`
}

// TaskUsage is a rough count for displays: TotalTokens is the size of the last context, not what was used.
type TaskUsage struct {
	TotalTokens int64 `json:"total_tokens"`
	ToolUses    int64 `json:"tool_uses"`
	Millis      int64 `json:"duration_ms"`
}

// TaskProgress says what a task does.
type TaskProgress struct {
	Head
	Task
	Description string    `json:"description"`
	LastTool    string    `json:"last_tool_name"`
	Summary     string    `json:"summary"`
	Usage       TaskUsage `json:"usage"`
}

// TaskUpdated says that the state of a task changed.
type TaskUpdated struct {
	Head
	Task
	Patch struct {
		// Status is pending, running, completed, failed, killed or paused; empty if it has not changed.
		Status     string `json:"status"`
		Error      string `json:"error"`
		Background *bool  `json:"is_backgrounded"`
		EndTime    int64  `json:"end_time"`
	} `json:"patch"`
}

// TaskNotification says that a task ended.
type TaskNotification struct {
	Head
	Task
	// Status is completed, failed or stopped.
	Status     string `json:"status"`
	Summary    string `json:"summary"`
	OutputFile string `json:"output_file"`
	// Usage is nil for a stopped task.
	Usage *TaskUsage `json:"usage"`
}

// BackgroundTasks lists the tasks that run in the background.
type BackgroundTasks struct {
	Head
	Tasks []struct {
		TaskID      string `json:"task_id"`
		TaskType    string `json:"task_type"`
		Description string `json:"description"`
	} `json:"tasks"`
}

// APIRetry says that a model call failed and is made again.
type APIRetry struct {
	Head
	Attempt     int   `json:"attempt"`
	MaxRetries  int   `json:"max_retries"`
	DelayMillis int64 `json:"retry_delay_ms"`
	// Status is the HTTP status; 0 where no answer came.
	Status int    `json:"error_status"`
	Error  string `json:"error"`
}

// Status says what the program does: "requesting", "compacting", or nothing.
type Status struct {
	Head
	Status         string `json:"status"`
	PermissionMode string `json:"permissionMode"`
	CompactResult  string `json:"compact_result"`
	CompactError   string `json:"compact_error"`
}

// CompactBoundary says that the program replaced what came before by a summary.
type CompactBoundary struct {
	Head
	Metadata struct {
		// Trigger is manual or auto.
		Trigger    string `json:"trigger"`
		PreTokens  int64  `json:"pre_tokens"`
		PostTokens int64  `json:"post_tokens"`
		Millis     int64  `json:"duration_ms"`
	} `json:"compact_metadata"`
}

// ThinkingTokens estimates how much a model has thought so far.
type ThinkingTokens struct {
	Head
	Estimated int64 `json:"estimated_tokens"`
	Delta     int64 `json:"estimated_tokens_delta"`
}

// PermissionDenied says that a tool call was denied without a prompt.
type PermissionDenied struct {
	Head
	Tool       string `json:"tool_name"`
	ToolUseID  string `json:"tool_use_id"`
	AgentID    string `json:"agent_id"`
	ReasonType string `json:"decision_reason_type"`
	Reason     string `json:"decision_reason"`
	Message    string `json:"message"`
}

// ModelFallback says that another model answers from here on.
type ModelFallback struct {
	Head
	Trigger       string `json:"trigger"`
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	Content       string `json:"content"`
}

// ModelRefusal says that a model refused. FallbackModel is the model that answers instead; empty for none.
type ModelRefusal struct {
	Head
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	Direction     string `json:"direction"`
	Category      string `json:"api_refusal_category"`
	Content       string `json:"content"`
	// Retracted lists the UUIDs of messages that are void.
	Retracted []string `json:"retracted_message_uuids"`
}

// Informational is a text for the user.
type Informational struct {
	Head
	Content   string `json:"content"`
	Level     string `json:"level"`
	ToolUseID string `json:"tool_use_id"`
}

// Notification is a short text for the user's screen.
type Notification struct {
	Head
	Key      string `json:"key"`
	Text     string `json:"text"`
	Priority string `json:"priority"`
}

// LocalCommandOutput is what a slash command printed.
type LocalCommandOutput struct {
	Head
	Content string `json:"content"`
}

// SessionState is "running", "idle" or "requires_action".
type SessionState struct {
	Head
	State string `json:"state"`
}

// SessionTitle says that the session has a title.
type SessionTitle struct {
	Head
	Title string `json:"title"`
}

// CommandsChanged lists the slash commands anew.
type CommandsChanged struct {
	Head
	Commands json.RawMessage `json:"commands"`
}

// FilesPersisted lists files that were stored.
type FilesPersisted struct {
	Head
	Files  json.RawMessage `json:"files"`
	Failed json.RawMessage `json:"failed"`
}

// ElicitationComplete says that a question of an MCP server was answered elsewhere.
type ElicitationComplete struct {
	Head
	Server        string `json:"mcp_server_name"`
	ElicitationID string `json:"elicitation_id"`
}

// HookEvent reports a hook of the settings, with [HookEvents]. Its subtype is hook_started, hook_progress or hook_response.
type HookEvent struct {
	Head
	HookID   string `json:"hook_id"`
	Name     string `json:"hook_name"`
	Event    string `json:"hook_event"`
	Output   string `json:"output"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode *int   `json:"exit_code"`
	Outcome  string `json:"outcome"`
}

// MemoryRecall lists memories that the program showed the model.
type MemoryRecall struct {
	Head
	Mode     string          `json:"mode"`
	Memories json.RawMessage `json:"memories"`
}

// MirrorError says that a store of transcripts refused an entry.
type MirrorError struct {
	Head
	Error string `json:"error"`
}

// SessionWritesLost says that the disk is full, so the session cannot be resumed from it.
type SessionWritesLost struct {
	Head
	ErrorCode string   `json:"error_code"`
	Lost      []string `json:"lost"`
}

// PluginInstall reports the installation of a plugin.
type PluginInstall struct {
	Head
	Status string `json:"status"`
	Name   string `json:"name"`
	Error  string `json:"error"`
}

// WorkerShuttingDown says why the program is about to end.
type WorkerShuttingDown struct {
	Head
	Reason string `json:"reason"`
}

// ControlProgress says that the program works on a control request.
type ControlProgress struct {
	Head
	RequestID string `json:"request_id"`
	Status    string `json:"status"`
	Attempt   int    `json:"attempt"`
}

// UIInvalidate says that a display should read the program's state again.
type UIInvalidate struct{ Head }
