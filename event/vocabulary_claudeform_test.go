package event_test

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// The lines of the Claude program's stream-json, in both directions: the
// fields that carry meaning. Seed 4 describes four of the types; anchor Claude
// section 2 has them all.
type claudeLine struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	Session   string    `json:"session_id"`
	Timestamp time.Time `json:"timestamp"`

	// assistant and user
	Message     json.RawMessage `json:"message"` // a string in system/permission_denied
	ParentCall  string          `json:"parent_tool_use_id"`
	Agent       string          `json:"agent_id"`
	Aborted     bool            `json:"aborted"`
	Error       string          `json:"error"`
	Synthetic   bool            `json:"isSynthetic"`
	Replay      *bool           `json:"isReplay"`
	ToolResult  json.RawMessage `json:"tool_use_result"`
	ResultMeta  []claudeMeta    `json:"tool_result_meta"`
	ErrorStatus int             `json:"api_error_status"`
	ErrorType   string          `json:"api_error_type"`

	// system/init
	Model   string         `json:"model"`
	Tools   []string       `json:"tools"`
	Servers []claudeServer `json:"mcp_servers"`

	// system/task_*, system/permission_denied
	Task         string          `json:"task_id"`
	ParentTask   string          `json:"parent_task_id"`
	Call         string          `json:"tool_use_id"`
	Tool         string          `json:"tool_name"`
	Text         string          `json:"content"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	SubagentType string          `json:"subagent_type"`
	Background   bool            `json:"is_backgrounded"`
	Depth        int             `json:"spawn_depth"`
	Prompt       string          `json:"prompt"`
	Status       string          `json:"status"`
	Summary      string          `json:"summary"`
	LastTool     string          `json:"last_tool_name"`
	Compact      *claudeCompact  `json:"compact_metadata"`
	Usage        json.RawMessage `json:"usage"`

	// result
	IsError    bool                        `json:"is_error"`
	Result     string                      `json:"result"`
	Errors     []string                    `json:"errors"`
	Turns      int                         `json:"num_turns"`
	Duration   int64                       `json:"duration_ms"`
	Stop       string                      `json:"stop_reason"`
	Terminal   string                      `json:"terminal_reason"`
	Cost       float64                     `json:"total_cost_usd"`
	Models     map[string]claudeModelUsage `json:"modelUsage"`
	SinceLast  map[string]claudeModelUsage `json:"model_usage_since_last_result"`
	Structured json.RawMessage             `json:"structured_output"`
	APIError   string                      `json:"api_error"`

	// stream_event
	Event     json.RawMessage `json:"event"` // a string in system/ui_invalidate
	FirstByte int64           `json:"ttft_ms"`

	// control_request, control_response
	RequestID string          `json:"request_id"`
	Request   *claudeRequest  `json:"request"`
	Response  *claudeResponse `json:"response"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Stop    *string         `json:"stop_reason"`
	Usage   claudeUsage     `json:"usage"`
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Call      string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

type claudeMeta struct {
	Call    string `json:"id"`
	NotRun  string `json:"non_execution_kind"`
	Allowed *struct {
		Decision string `json:"decision"`
	} `json:"permission_decision"`
}

type claudeServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

type claudeCompact struct {
	Trigger string `json:"trigger"`
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u claudeUsage) ours() event.Usage {
	return event.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Reasoning: u.Details.Thinking, Total: u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
}

type claudeModelUsage struct {
	Input      int64   `json:"inputTokens"`
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadInputTokens"`
	CacheWrite int64   `json:"cacheCreationInputTokens"`
	Thinking   int64   `json:"thinkingTokens"`
	Cost       float64 `json:"costUSD"`
}

func (u claudeModelUsage) ours() event.Usage {
	return event.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Reasoning: u.Thinking, Total: u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
}

type claudeStreamEvent struct {
	Type    string         `json:"type"`
	Index   int            `json:"index"`
	Message *claudeMessage `json:"message"`
	Block   *claudeBlock   `json:"content_block"`
	Delta   *struct {
		Type     string  `json:"type"`
		Text     string  `json:"text"`
		Thinking string  `json:"thinking"`
		JSON     string  `json:"partial_json"`
		Stop     *string `json:"stop_reason"`
	} `json:"delta"`
	Usage claudeUsage `json:"usage"`
}

type claudeRequest struct {
	Subtype     string                     `json:"subtype"`
	Hooks       map[string]json.RawMessage `json:"hooks"`
	Tool        string                     `json:"tool_name"`
	Call        string                     `json:"tool_use_id"`
	Input       json.RawMessage            `json:"input"`
	Description string                     `json:"description"`
	Agent       string                     `json:"agent_id"`
	Suggestions json.RawMessage            `json:"permission_suggestions"`
	Blocked     string                     `json:"blocked_path"`
}

type claudeHookInput struct {
	Event    string          `json:"hook_event_name"`
	Tool     string          `json:"tool_name"`
	Call     string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response"`
	Duration int64           `json:"duration_ms"`
}

type claudeResponse struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response"`
}

// claudePermission is the host's answer to can_use_tool.
type claudePermission struct {
	Behavior  string          `json:"behavior"`
	Input     json.RawMessage `json:"updatedInput,omitempty"`
	Message   string          `json:"message,omitempty"`
	Interrupt bool            `json:"interrupt,omitempty"`
}

// claudeErrors are the values of an assistant line's error (anchor Claude 2).
var claudeErrors = map[string]event.ErrorKind{
	"authentication_failed":  event.ErrModelAuth,
	"oauth_org_not_allowed":  event.ErrModelAuth,
	"account_on_hold":        event.ErrModelAuth,
	"verification_required":  event.ErrModelAuth,
	"billing_error":          event.ErrModelAuth,
	"cloud_credential_error": event.ErrModelAuth,
	"rate_limit":             event.ErrThrottled,
	"overloaded":             event.ErrOverloaded,
	"invalid_request":        event.ErrModel,
	"model_not_found":        event.ErrModelNotFound,
	"server_error":           event.ErrModel,
	"unknown":                event.ErrModel,
	"max_output_tokens":      event.ErrMaxTokens,
}

// claudeStatuses say more than the words do: 529 arrives as "server_error".
var claudeStatuses = map[int]event.ErrorKind{
	401: event.ErrModelAuth, 403: event.ErrModelAuth, 404: event.ErrModelNotFound,
	429: event.ErrThrottled, 529: event.ErrOverloaded,
}

func claudeErrorKind(word string, status int) event.ErrorKind {
	if kind, ok := claudeStatuses[status]; ok {
		return kind
	}
	if kind, ok := claudeErrors[word]; ok {
		return kind
	}
	return event.ErrModel
}

// A claudeEnd is what a terminal_reason means.
type claudeEnd struct {
	status event.RunStatus
	stop   event.StopReason // empty: the program's own stop_reason
	why    event.Why
	kind   event.ErrorKind // empty: none, or from the HTTP status where the run failed
}

// claudeEnds has every terminal_reason of the type declarations (anchor Claude 2).
var claudeEnds = map[string]claudeEnd{
	"completed":                         {event.RunCompleted, "", event.WhyEndTurn, ""},
	"max_turns":                         {event.RunCompleted, event.StopLimitCycles, event.WhyLimit, event.ErrLimit},
	"budget_exhausted":                  {event.RunCompleted, event.StopLimitCost, event.WhyLimit, event.ErrLimit},
	"api_error":                         {event.RunFailed, "", event.WhyFailed, ""},
	"prompt_too_long":                   {event.RunFailed, event.StopContextOverflow, event.WhyFailed, event.ErrContextOverflow},
	"blocking_limit":                    {event.RunFailed, event.StopError, event.WhyFailed, event.ErrThrottled},
	"rapid_refill_breaker":              {event.RunFailed, event.StopError, event.WhyFailed, event.ErrThrottled},
	"image_error":                       {event.RunFailed, event.StopError, event.WhyFailed, event.ErrModel},
	"model_error":                       {event.RunFailed, event.StopError, event.WhyFailed, event.ErrModel},
	"malformed_tool_use_exhausted":      {event.RunFailed, event.StopError, event.WhyFailed, event.ErrModel},
	"aborted_streaming":                 {event.RunCancelled, event.StopCancelled, event.WhyCancelled, event.ErrCancelled},
	"aborted_tools":                     {event.RunCancelled, event.StopCancelled, event.WhyCancelled, event.ErrCancelled},
	"stop_hook_prevented":               {event.RunCompleted, "", event.WhyToolStop, ""},
	"hook_stopped":                      {event.RunCompleted, "", event.WhyToolStop, ""},
	"tool_deferred":                     {event.RunWaiting, event.StopQuestion, event.WhyWaiting, ""},
	"tool_deferred_unavailable":         {event.RunFailed, event.StopError, event.WhyFailed, event.ErrUnavailable},
	"background_requested":              {event.RunCompleted, "", event.WhyEndTurn, ""},
	"structured_output_retry_exhausted": {event.RunFailed, event.StopError, event.WhyFailed, event.ErrModel},
	"turn_setup_failed":                 {event.RunFailed, event.StopError, event.WhyFailed, event.ErrInternal},
}
