package claude

import "encoding/json"

// Message is one line of the program's output. The types of this package are all there are: [Assistant], [User], [Result],
// [StreamEvent], [Init] and those of message_system.go and message_other.go. A line of a type that is not listed here is an
// [Unknown].
type Message interface {
	// Base returns what all messages have.
	Base() *Head
}

// Head is what all messages have.
type Head struct {
	// Type and Subtype name the kind of message, as "system" and "init".
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	// Session is the session's id.
	Session string `json:"session_id"`
	// UUID is the message's id; empty for most results of failures at the start.
	UUID string `json:"uuid"`
	// Raw is the whole line, with the fields that have no place in the type. It must not be changed.
	Raw json.RawMessage `json:"-"`
}

// Base implements [Message].
func (h *Head) Base() *Head { return h }

// Unknown is a message of a type that this package does not know.
type Unknown struct{ Head }

// Assistant is a part of an answer of a model: the program sends one message for each content block. Its usage counts are
// those of the answer's beginning, so they are not what was used.
type Assistant struct {
	Head
	Message ModelMessage `json:"message"`
	// ParentToolUse is the call of the Task tool in whose sub-agent the model answered; empty for the main agent.
	ParentToolUse string `json:"parent_tool_use_id"`
	// Error is set on messages that the program made up to report a failed call: "rate_limit", "overloaded" and others.
	Error string `json:"error"`
	// APIErrorStatus is the HTTP status of that failure; 0 for none.
	APIErrorStatus int `json:"api_error_status"`
	// Aborted says that the answer was interrupted.
	Aborted bool `json:"aborted"`
	// AgentID, SubagentType and TaskDescription describe the sub-agent.
	AgentID         string `json:"agent_id"`
	SubagentType    string `json:"subagent_type"`
	TaskDescription string `json:"task_description"`
	RequestID       string `json:"request_id"`
	// Supersedes lists the UUIDs of messages that this one replaces.
	Supersedes []string `json:"supersedes"`
	Timestamp  string   `json:"timestamp"`
}

// SyntheticModel is the model of messages that the program itself wrote. They cost nothing.
const SyntheticModel = "<synthetic>"

// Text returns the text of the message's text blocks.
func (a *Assistant) Text() string { return a.Message.Content.Text() }

// ModelMessage is a message of the Messages API.
type ModelMessage struct {
	ID         string  `json:"id"`
	Role       string  `json:"role"`
	Model      string  `json:"model"`
	Content    Content `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      Usage   `json:"usage"`
}

// User is a message in the user's role: results of tools, prompts of sub-agents, replayed prompts, and texts that the program
// wrote in the user's place.
type User struct {
	Head
	Message       ModelMessage `json:"message"`
	ParentToolUse string       `json:"parent_tool_use_id"`
	// ToolUseResult is the result of a built-in tool in its own form; a string for a failure.
	ToolUseResult json.RawMessage `json:"tool_use_result"`
	// Synthetic marks what the program wrote, Replay a prompt that it repeats.
	Synthetic    bool   `json:"isSynthetic"`
	Replay       bool   `json:"isReplay"`
	AgentID      string `json:"agent_id"`
	SubagentType string `json:"subagent_type"`
	Timestamp    string `json:"timestamp"`
}

// StreamEvent is a raw event of the Messages API's stream, with [PartialMessages]. The program sends those of the main
// agent only. The deltas of an answer that breaks off are followed by a message_stop without a message_delta.
type StreamEvent struct {
	Head
	Event         Event  `json:"event"`
	ParentToolUse string `json:"parent_tool_use_id"`
	// MessageID is the id of the answer.
	MessageID string `json:"api_message_id"`
	// FirstTokenMillis is the time to the first token in milliseconds, on an answer's first event.
	FirstTokenMillis int64 `json:"ttft_ms"`
	// Abandoned is set on the end of an answer that broke off: the deltas before it are void.
	Abandoned json.RawMessage `json:"abandoned_blocks"`
}

// Event is an event of the Messages API's stream: the fields of all its kinds.
type Event struct {
	// Type is message_start, content_block_start, content_block_delta, content_block_stop, message_delta or message_stop.
	Type    string        `json:"type"`
	Index   int           `json:"index"`
	Message *ModelMessage `json:"message"`
	Block   *Block        `json:"content_block"`
	Delta   Delta         `json:"delta"`
	// Usage is set on message_delta, and final.
	Usage *Usage `json:"usage"`
}

// Delta is the piece of a content_block_delta, or the stop reason of a message_delta.
type Delta struct {
	// Type is text_delta, thinking_delta, input_json_delta, signature_delta or citations_delta.
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	PartialJSON string `json:"partial_json"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`
}
