package agentcore

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Kind is what an item of a stream is.
type Kind string

// The kinds of items. The first eight are those of seed 1; the others are what else
// Strands and AgentCore send.
const (
	KindInit         Kind = "init"
	KindStart        Kind = "start"
	KindStartLoop    Kind = "start_event_loop"
	KindMessageStart Kind = "message_start"
	KindText         Kind = "text"
	// KindRepr is a string that holds the printed form of Python objects. It says
	// nothing that other items do not say.
	KindRepr        Kind = "repr"
	KindMessageStop Kind = "message_stop"
	KindMetadata    Kind = "metadata"
	// KindToolUse is the announcement of a call by the author's program.
	KindToolUse Kind = "tool_use"
	KindMessage Kind = "message"

	KindBlockStart Kind = "block_start"
	KindBlockStop  Kind = "block_stop"
	KindThinking   Kind = "thinking"
	KindToolInput  Kind = "tool_input"
	// KindReplaced says that a guardrail took the message's text back: Text stands instead.
	KindReplaced   Kind = "replaced"
	KindToolStream Kind = "tool_stream"
	KindToolCancel Kind = "tool_cancel"
	KindInterrupt  Kind = "interrupt"
	KindThrottled  Kind = "throttled"
	// KindNotice says why nothing comes of the run for now: Text, and in Code a word for programs.
	KindNotice     Kind = "notice"
	KindStructured Kind = "structured_output"
	KindForceStop  Kind = "force_stop"
	KindResult     Kind = "result"
	KindError      Kind = "error"
	// KindOther is JSON that means nothing to this reader.
	KindOther Kind = "other"
	// KindAnomaly is what cannot be read, or should not be there; see [Anomaly].
	KindAnomaly Kind = "anomaly"
)

// Anomaly names what is wrong with a stream.
type Anomaly string

// The anomalies. None ends the reading.
const (
	// NotJSON is a line, or an event, that is no JSON and no text either.
	NotJSON Anomaly = "not_json"
	// HTML is a page in the middle, as a proxy writes it.
	HTML Anomaly = "html"
	// MCPAgentTool is the text "'MCPAgentTool' object …", which Python writes where it
	// could not serialise a tool.
	MCPAgentTool Anomaly = "mcp_agent_tool"
	// NotFinite is a NaN or an infinity in what a tool was given: read as null.
	NotFinite Anomaly = "not_finite"
	// BadInput is a tool's input that is no JSON.
	BadInput Anomaly = "bad_input"
	// TooLarge is an event above the limit, which was passed over.
	TooLarge Anomaly = "too_large"
	// Truncated is a stream that ends before its run does.
	Truncated Anomaly = "truncated"
)

// Item is one thing that a stream says. It, and all its bytes, are good until the next
// call of [Reader.Next]; tools, content and results stay good.
type Item struct {
	Kind Kind
	// Number counts the stream's items from 1.
	Number int
	// Raw is the value as it came, or the beginning of what is no JSON.
	Raw []byte
	// Text is a piece of text, of reasoning, or of a tool's input; the sentence of an
	// error or a forced stop; the text of a result.
	Text []byte
	// Repeats says that items before it said the same: adding it would say it twice.
	Repeats bool
	// Block numbers the content block that a piece belongs to.
	Block int
	// Role is that of a message.
	Role string
	// Stop is why a message, or the run, ended, in the stream's own word.
	Stop string
	// Tools are the calls that it tells of. They also change later, as more is told.
	Tools []*ToolUse
	// Content is a whole message: text, thinking, tool calls and results.
	Content []event.Block
	// Usage, Latency and FirstByte are what a metadata item measured.
	Usage              event.Usage
	Latency, FirstByte time.Duration
	// Delay is how long a throttled call waits.
	Delay time.Duration
	// Code is a word for a notice, such as QUEUED.
	Code string
	// ErrorType is the class of an error, as the other side calls it.
	ErrorType string
	// Data is the JSON of what a tool streams, an interrupt, or a structured output.
	Data json.RawMessage
	// Anomaly says what is wrong; items of other kinds may have one too.
	Anomaly Anomaly
}
