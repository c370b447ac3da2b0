package claude

import "encoding/json"

// Result ends a turn. A failed call of the model arrives as subtype "success" with IsError set; ask [Result.Err].
type Result struct {
	Head
	IsError bool `json:"is_error"`
	// APIErrorStatus is the HTTP status of the model call that failed; 0 for none.
	APIErrorStatus int `json:"api_error_status"`
	// Text is the last answer; empty for the subtypes of errors, which have Errors.
	Text   string   `json:"result"`
	Errors []string `json:"errors"`
	// StartupFailure says why nothing was done.
	StartupFailure string `json:"startup_failure_reason"`
	StopReason     string `json:"stop_reason"`
	// TerminalReason says why the turn ended: completed, max_turns, budget_exhausted, api_error, prompt_too_long,
	// aborted_streaming, aborted_tools and others.
	TerminalReason string `json:"terminal_reason"`
	Turns          int    `json:"num_turns"`
	Millis         int64  `json:"duration_ms"`
	APIMillis      int64  `json:"duration_api_ms"`
	// Usage is that of the main agent in this turn. ModelUsage and CostUSD count the whole process, by model, with
	// sub-agents.
	Usage      Usage                 `json:"usage"`
	ModelUsage map[string]ModelUsage `json:"modelUsage"`
	CostUSD    float64               `json:"total_cost_usd"`
	Denials    []PermissionDenial    `json:"permission_denials"`
	// Structured is the answer in the form of [JSONSchema].
	Structured json.RawMessage `json:"structured_output"`
	// Deferred is the tool call that a hook deferred.
	Deferred json.RawMessage `json:"deferred_tool_use"`
	// Origin says what began the turn if it was no prompt, such as a sub-agent that ended in the background.
	Origin struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	// Queued is how many prompts wait.
	Queued int `json:"queued_turn_count"`
}

// PermissionDenial is a tool call that was not permitted.
type PermissionDenial struct {
	Tool      string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"tool_input"`
}
