package claude

import "encoding/json"

// RateLimit reports the limits of a subscription.
type RateLimit struct {
	Head
	Info json.RawMessage `json:"rate_limit_info"`
}

// ToolProgress says that a tool still runs.
type ToolProgress struct {
	Head
	ToolUseID     string  `json:"tool_use_id"`
	Tool          string  `json:"tool_name"`
	ParentToolUse string  `json:"parent_tool_use_id"`
	Seconds       float64 `json:"elapsed_time_seconds"`
	TaskID        string  `json:"task_id"`
}

// ToolUseSummary sums up several tool calls in a sentence.
type ToolUseSummary struct {
	Head
	Summary    string   `json:"summary"`
	ToolUseIDs []string `json:"preceding_tool_use_ids"`
}

// PromptSuggestion is what the user may want to ask next, with [PromptSuggestions].
type PromptSuggestion struct {
	Head
	Suggestion string `json:"suggestion"`
}

// AuthStatus reports a sign-in.
type AuthStatus struct {
	Head
	Authenticating bool     `json:"isAuthenticating"`
	Output         []string `json:"output"`
	Error          string   `json:"error"`
}

// ConversationReset says that the session goes on under another id without its history.
type ConversationReset struct {
	Head
	NewID   string `json:"new_conversation_id"`
	Trigger string `json:"trigger"`
}

// ActiveGoal reports the goal of the session; Value is null for none.
type ActiveGoal struct {
	Head
	Value json.RawMessage `json:"value"`
}

// Mirror is what the program appended to a file of the session's transcript, with [MirrorSession]. Files of sub-agents have
// their own path. Appending each entry as a line gives the file again.
type Mirror struct {
	Head
	// File is the path in the configuration folder of the process.
	File    string            `json:"filePath"`
	Entries []json.RawMessage `json:"entries"`
}
