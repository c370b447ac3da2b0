package native

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Frame is one frame of the stream: a pointer to one of this package's types.
// The interface is sealed, and the list of types will grow.
type Frame interface {
	// FrameName is the frame's name on the stream.
	FrameName() string
	// append appends the frame's JSON, in one line.
	append(dst []byte) []byte
}

// Place says where in a run a frame belongs.
type Place struct {
	// Step is the model or tool call, unique within the run; Attempt counts its
	// tries from 1.
	Step    string `json:"step,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Parent is the tool call whose agent speaks; empty for the run's own.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

// Init begins a run.
type Init struct {
	// SessionID names the stretch of the conversation that the model sees; it
	// changes when a conversation is reset.
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
	// Turn numbers the conversation's runs from 1.
	Turn       int      `json:"turn"`
	Tools      []string `json:"tools"`
	MCPServers []Server `json:"mcp_servers"`
	RunID      string   `json:"run_id"`
	Agent      string   `json:"agent,omitempty"`
	// Metadata is the caller's own.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Simulated is set where the model follows a script.
	Simulated bool `json:"simulated,omitempty"`
}

// Server is a source of tools and the state of its connection.
type Server struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	// Reason says why it is not connected; empty if it is.
	Reason string `json:"reason,omitempty"`
	// Skipped are tools of it that the run does without, at most some.
	Skipped []SkippedTool `json:"skipped,omitempty"`
}

// SkippedTool is a tool that is left out, and why. One without a name represents several.
type SkippedTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// TextDelta is the next piece of a step's text.
type TextDelta struct {
	Text string `json:"text"`
	Place
}

// Thinking is the next piece of a step's reasoning.
type Thinking struct {
	Text string `json:"text"`
	Place
}

// ToolUse is a call that the model asks for. Step is the model's.
type ToolUse struct {
	ToolUseID string `json:"tool_use_id"`
	ToolName  string `json:"tool_name"`
	// ToolInput is JSON, normally an object. It is {} where the model sent
	// something that cannot be used; Fault then says what is wrong with it.
	ToolInput json.RawMessage `json:"tool_input"`
	Fault     string          `json:"fault,omitempty"`
	Place
}

// ToolProgress is the latest progress of a running tool.
type ToolProgress struct {
	ToolUseID string `json:"tool_use_id"`
	ToolName  string `json:"tool_name"`
	Text      string `json:"text,omitempty"`
	// Data is JSON for programs.
	Data json.RawMessage `json:"data,omitempty"`
	Place
}

// ToolResult is the end of a call, as the model is shown it.
type ToolResult struct {
	ToolUseID string `json:"tool_use_id"`
	ToolName  string `json:"tool_name,omitempty"`
	// Content is the result's text, or where it has none its structured form.
	Content string `json:"content"`
	IsError bool   `json:"is_error"`
	// Structured is the same as JSON; Attachments are what is no text.
	Structured  json.RawMessage `json:"structured,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	// Outcome is set where the call did not simply end: cancelled, straggler,
	// in_doubt.
	Outcome    event.Outcome `json:"outcome,omitempty"`
	DurationMS int64         `json:"duration_ms,omitempty"`
	Place
}

// SubagentStart says that an agent begins to work for a call of a Task tool.
type SubagentStart struct {
	ToolUseID    string `json:"tool_use_id"`
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description,omitempty"`
	// Model is the model that the agent starts with, ModelAlias the name that the call chose it by; empty if it
	// chose none.
	Model      string `json:"model,omitempty"`
	ModelAlias string `json:"model_alias,omitempty"`
	// Background is set where the call does not wait for the agent.
	Background bool `json:"background,omitempty"`
	// Place is that of the call.
	Place
}

// SubagentEnd says that the agent has ended. For a call that waits, its answer is in the call's [ToolResult].
type SubagentEnd struct {
	ToolUseID    string `json:"tool_use_id"`
	SubagentType string `json:"subagent_type"`
	// Status is completed, failed or cancelled.
	Status event.RunStatus `json:"status"`
	// Result is the agent's answer where the call does not wait for it.
	Result string `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
	// Spending is what the agent used itself, without the agents below it.
	Spending
	DurationMS int64 `json:"duration_ms,omitempty"`
	// Parent is the call whose agent made the call; empty for the run's own agent.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

// Transfer says that another agent goes on in a scope.
type Transfer struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Scope is empty for the run's own agent.
	Scope string `json:"scope,omitempty"`
	Place
}

// Spending is what an agent used.
type Spending struct {
	Usage Usage `json:"usage"`
	// TotalCostUSD is nil where no price is known: unknown is not zero.
	TotalCostUSD *float64     `json:"total_cost_usd"`
	Estimated    bool         `json:"estimated,omitempty"`
	ModelUsage   []ModelUsage `json:"model_usage,omitempty"`
}

// AgentUsage is what one agent of a run used itself.
type AgentUsage struct {
	// ToolUseID is the call that the agent works for, SubagentType its name.
	ToolUseID    string `json:"tool_use_id,omitempty"`
	SubagentType string `json:"subagent_type,omitempty"`
	Spending
}

// Attachment is what a picture, a file or a recording is, without its bytes.
type Attachment struct {
	// Kind is "image", "document", "audio" or "video".
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	URL  string `json:"url,omitempty"`
	// Size is in bytes; 0 where they are elsewhere.
	Size int `json:"size,omitempty"`
}

// Question waits for the user's answer. The run continues after it.
type Question struct {
	// QuestionID is what the answer is sent to. It is good for one.
	QuestionID string             `json:"question_id"`
	Ask        event.QuestionKind `json:"ask"`
	// Name tells questions of one call apart; Index is its place among them.
	Name   string `json:"name,omitempty"`
	Index  int    `json:"index,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Payload is for the person's program; Schema is the JSON schema of the answer.
	Payload json.RawMessage `json:"payload,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	// The call that asks, and for an approval the arguments it is bound to.
	ToolUseID string          `json:"tool_use_id,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	ToolInput json.RawMessage `json:"tool_input,omitempty"`
	// ExpiresAt is when the question closes by itself; zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Place
}

// Answered says that a question has its answer, and not what it is.
type Answered struct {
	QuestionID string `json:"question_id"`
	By         string `json:"by,omitempty"`
	Place
}

// Message is a step's whole answer.
type Message struct {
	Text     string `json:"text"`
	Thinking string `json:"thinking,omitempty"`
	// Piece is set where more of the answer is to come: Text and Thinking are its
	// beginning.
	Piece      bool             `json:"piece,omitempty"`
	StopReason event.StopReason `json:"stop_reason,omitempty"`
	Model      string           `json:"model,omitempty"`
	Usage      Usage            `json:"usage"`
	Simulated  bool             `json:"simulated,omitempty"`
	Place
}

// UserMessage is a message of the user: a run's input, or a message during the run.
type UserMessage struct {
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// MessageID is the id under which it came during the run; empty for what
	// the run began with.
	MessageID string `json:"message_id,omitempty"`
}

// Snapshot stands for all deltas of a step in flight so far.
type Snapshot struct {
	Text     string `json:"text"`
	Thinking string `json:"thinking,omitempty"`
	// Truncated says that something is missing. No delta of the attempt
	// follows then; the message has everything.
	Truncated bool `json:"truncated,omitempty"`
	Place
}

// Retry says that an attempt failed, or was lost, and another follows.
type Retry struct {
	Error *Error `json:"error,omitempty"`
	// RetryAt is when; zero means at once.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Model is the model that is asked instead; empty where it is the same one.
	Model string `json:"model,omitempty"`
	Place
}

// Redacted replaces what an earlier event of the conversation showed.
type Redacted struct {
	// Target is the number of that event: the id of the last of its frames.
	Target int64  `json:"target"`
	Text   string `json:"text"`
}

// Notice reports something about the run itself, or an error that did not end the run.
type Notice struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	Place
}

// Title is the conversation's new title.
type Title struct {
	Title string `json:"title"`
}

// Result ends a run that did not fail.
type Result struct {
	// Result is the agent's last answer; of a run that was cut off, the last
	// that it said.
	Result string `json:"result"`
	// IsError is set where the run was cancelled or reached a limit or the end of
	// its time. Errors then says so for people, Error for programs.
	IsError bool     `json:"is_error"`
	Errors  []string `json:"errors"`
	End
	Error *Error `json:"error,omitempty"`
	// StructuredOutput is the answer as JSON, where that was asked for.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
}

// End is what a run came to.
type End struct {
	Usage Usage `json:"usage"`
	// TotalCostUSD is nil where no price is known: unknown is not zero.
	TotalCostUSD *float64 `json:"total_cost_usd"`
	// Estimated says that Usage and TotalCostUSD hold an estimate for a model call that was
	// cut: the provider may charge more.
	Estimated bool `json:"estimated,omitempty"`
	// NumTurns counts the root agent's model calls.
	NumTurns   int              `json:"num_turns"`
	DurationMS int64            `json:"duration_ms"`
	SessionID  string           `json:"session_id"`
	StopReason event.StopReason `json:"stop_reason,omitempty"`
	RunID      string           `json:"run_id"`
	Turn       int              `json:"turn"`
	Status     event.RunStatus  `json:"status"`
	ModelUsage []ModelUsage     `json:"model_usage,omitempty"`
	// Main and Subagents split Usage, TotalCostUSD and ModelUsage by agent, in a run with a call of a Task tool.
	Main      *AgentUsage  `json:"main,omitempty"`
	Subagents []AgentUsage `json:"subagents,omitempty"`
	Simulated bool         `json:"simulated,omitempty"`
	// FileChanges are what the run's tools did to the files of the workspace, in the order of the paths;
	// MoreFileChanges counts those that the list lacks.
	FileChanges     []event.FileChange `json:"file_changes,omitempty"`
	MoreFileChanges int                `json:"more_file_changes,omitempty"`
}

// Usage counts tokens, in the names of the Messages API. InputTokens does not
// include the two of the cache; OutputTokens includes ReasoningTokens. WebSearches and
// FileSearches are the searches that the provider ran and charges for.
type Usage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	ReasoningTokens          int64 `json:"reasoning_tokens,omitempty"`
	TotalTokens              int64 `json:"total_tokens,omitempty"`
	WebSearches              int64 `json:"web_searches,omitempty"`
	FileSearches             int64 `json:"file_searches,omitempty"`
}

// UsageOf is a usage in this wire's names.
func UsageOf(u event.Usage) Usage {
	return Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CacheReadInputTokens: u.CacheRead, CacheCreationInputTokens: u.CacheWrite,
		ReasoningTokens: u.Reasoning, TotalTokens: u.Total, WebSearches: u.WebSearches, FileSearches: u.FileSearches,
	}
}

// ModelUsage is what one model used.
type ModelUsage struct {
	Model        string   `json:"model"`
	Usage        Usage    `json:"usage"`
	TotalCostUSD *float64 `json:"total_cost_usd"`
	Estimated    bool     `json:"estimated,omitempty"`
}

// FrameName implements [Frame].
func (*Init) FrameName() string { return "init" }

// FrameName implements [Frame].
func (*TextDelta) FrameName() string { return "text_delta" }

// FrameName implements [Frame].
func (*Thinking) FrameName() string { return "thinking" }

// FrameName implements [Frame].
func (*ToolUse) FrameName() string { return "tool_use" }

// FrameName implements [Frame].
func (*ToolProgress) FrameName() string { return "tool_progress" }

// FrameName implements [Frame].
func (*ToolResult) FrameName() string { return "tool_result" }

// FrameName implements [Frame].
func (*SubagentStart) FrameName() string { return "subagent_start" }

// FrameName implements [Frame].
func (*SubagentEnd) FrameName() string { return "subagent_end" }

// FrameName implements [Frame].
func (*Question) FrameName() string { return "question" }

// FrameName implements [Frame].
func (*Answered) FrameName() string { return "answered" }

// FrameName implements [Frame].
func (*Message) FrameName() string { return "message" }

// FrameName implements [Frame].
func (*UserMessage) FrameName() string { return "user_message" }

// FrameName implements [Frame].
func (*Snapshot) FrameName() string { return "snapshot" }

// FrameName implements [Frame].
func (*Retry) FrameName() string { return "retry" }

// FrameName implements [Frame].
func (*Redacted) FrameName() string { return "redacted" }

// FrameName implements [Frame].
func (*Notice) FrameName() string { return "notice" }

// FrameName implements [Frame].
func (*Title) FrameName() string { return "title" }

// FrameName implements [Frame].
func (*Result) FrameName() string { return "result" }

// FrameName implements [Frame].
func (*Error) FrameName() string { return "error" }

// Terminal reports whether a frame ends its run.
func Terminal(f Frame) bool {
	switch f.(type) {
	case *Result, *Error:
		return true
	default:
		return false
	}
}
