package event

import "encoding/json"

// TextDelta is the next piece of a text block. Pieces of one block share
// Block; the message that ends the step repeats them all.
//
//event:body text_delta live
type TextDelta struct {
	Text  string `json:"text"`
	Block int    `json:"block"`
}

// ThinkingDelta is the next piece of the model's reasoning.
//
//event:body thinking_delta live
type ThinkingDelta struct {
	Text  string `json:"text"`
	Block int    `json:"block"`
}

// ToolInputDelta is the next piece of a tool call's arguments: a fragment of
// JSON, not JSON. The first one of a call may be empty and tells its name.
//
//event:body tool_input_delta live
type ToolInputDelta struct {
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	JSON  string `json:"json"`
	Block int    `json:"block"`
}

// ToolProgress is what a running tool tells its watchers.
//
//event:body tool_progress live
type ToolProgress struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Text string `json:"text,omitempty"`
	// Data is JSON for programs.
	Data json.RawMessage `json:"data,omitempty"`
}

// AnswerReplaced says that nothing of what the step's answer has said so far may stand:
// a guardrail of the provider took it back. Text is all that is shown of it, the
// beginning of the text block Block; deltas that follow go on from there.
//
//event:body answer_replaced live
type AnswerReplaced struct {
	Text  string `json:"text"`
	Block int    `json:"block"`
}

// IsLive reports whether the body exists only on the stream. A nil body and an
// unknown one count as durable: dropping what one does not know loses it.
func IsLive(b Body) bool { return b != nil && b.info().Live }
