package agentcore

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Kind is the kind of an item.
type Kind string

// The kinds of items. The first eight are those of seed 1; Strands and AgentCore also send the
// others.
const (
	KindInit         Kind = "init"
	KindStart        Kind = "start"
	KindStartLoop    Kind = "start_event_loop"
	KindMessageStart Kind = "message_start"
	KindText         Kind = "text"
	// KindRepr is a string with the printed form of Python objects. It repeats the content of
	// other items.
	KindRepr        Kind = "repr"
	KindMessageStop Kind = "message_stop"
	KindMetadata    Kind = "metadata"
	// KindToolUse is the program's announcement of a call.
	KindToolUse Kind = "tool_use"
	KindMessage Kind = "message"

	KindBlockStart Kind = "block_start"
	KindBlockStop  Kind = "block_stop"
	KindThinking   Kind = "thinking"
	KindToolInput  Kind = "tool_input"
	// KindReplaced means that a guardrail replaced the message's text by Text.
	KindReplaced   Kind = "replaced"
	KindToolStream Kind = "tool_stream"
	KindToolCancel Kind = "tool_cancel"
	KindInterrupt  Kind = "interrupt"
	KindThrottled  Kind = "throttled"
	// KindNotice explains why the run makes no progress for now, with Text for people and Code
	// for programs.
	KindNotice     Kind = "notice"
	KindStructured Kind = "structured_output"
	KindForceStop  Kind = "force_stop"
	KindResult     Kind = "result"
	KindError      Kind = "error"
	// KindOther is JSON that this reader does not know.
	KindOther Kind = "other"
	// KindAnomaly is unreadable or unexpected input; see [Anomaly].
	KindAnomaly Kind = "anomaly"
)

// Anomaly names a defect of a stream.
type Anomaly string

// The anomalies. None ends the reading.
const (
	// NotJSON is a line or an event that is neither JSON nor text.
	NotJSON Anomaly = "not_json"
	// HTML is an HTML page inside the stream, as a proxy sends it.
	HTML Anomaly = "html"
	// MCPAgentTool is the text "'MCPAgentTool' object …", which Python writes if it cannot
	// serialise a tool.
	MCPAgentTool Anomaly = "mcp_agent_tool"
	// NotFinite is a NaN or an infinity in a tool's input, read as null.
	NotFinite Anomaly = "not_finite"
	// BadInput is a tool's input that is not JSON.
	BadInput Anomaly = "bad_input"
	// TooLarge is an event above the limit, which the reader skipped.
	TooLarge Anomaly = "too_large"
	// Truncated is a stream that ends before its run does.
	Truncated Anomaly = "truncated"
)

// Item is one item of a stream. The item and its bytes are valid until the next call of
// [Reader.Next]; tools, content and results stay valid.
type Item struct {
	Kind Kind
	// Number counts the stream's items from 1.
	Number int
	// Raw is the value as received, or the beginning of input that is not JSON.
	Raw []byte
	// Text is a piece of text, reasoning or tool input, the message of an error or a forced
	// stop, or the text of a result.
	Text []byte
	// Repeats means that earlier items had the same content, so adding it would duplicate it.
	Repeats bool
	// Block is the number of the content block of a piece.
	Block int
	// Role is the role of a message.
	Role string
	// Stop is the stop reason of a message or the run, in the stream's own word.
	Stop string
	// Tools are the calls that the item is about. The reader updates them later, as it learns
	// more.
	Tools []*ToolUse
	// Content is a complete message: text, thinking, tool calls and results.
	Content []event.Block
	// Usage, Latency and FirstByte are the figures of a metadata item.
	Usage              event.Usage
	Latency, FirstByte time.Duration
	// Delay is how long a throttled call waits.
	Delay time.Duration
	// Code is the code of a notice, such as QUEUED.
	Code string
	// ErrorType is the class of an error in the sender's terms.
	ErrorType string
	// Data is the JSON of a tool's stream, an interrupt or a structured output.
	Data json.RawMessage
	// Anomaly names the defect; items of other kinds may have one too.
	Anomaly Anomaly
}
