package adk

import (
	"encoding/json"
	"time"
)

// Event is an event of ADK. The zero value is an event without anything, which is final by ADK's rule.
type Event struct { //nolint:recvcheck // it is written as a value, and too large to be copied for more
	// ID names the event. All pieces of an answer and the event that closes it have the same one.
	ID string
	// InvocationID names the run.
	InvocationID string
	// Author is "user" or the name of an agent.
	Author string
	// Branch is the dotted path of parallel branches.
	Branch string
	// Time is when the event was made, and Clock how the time is written. The zero time is not written.
	Time  time.Time
	Clock Clock
	// Content is what is said; nil is nothing.
	Content *Content
	// Actions are side effects and control; nil is none.
	Actions *Actions
	// LongRunning are the ids of the calls that are answered later. nil is not written.
	LongRunning []string
	// Partial is true for a piece of an answer.
	Partial, TurnComplete, Interrupted Flag
	FinishReason                       string
	// ErrorCode and ErrorMessage say what went wrong.
	ErrorCode, ErrorMessage string
	ModelVersion            string
	// Usage is usageMetadata; nil is unknown.
	Usage *Usage
	// Other has the fields that Braid gives no meaning: it keeps them as they came. The table of the guide lists them.
	Other map[string]json.RawMessage
}

// Flag is true, false or absent, which is the zero value.
type Flag uint8

// The values of a Flag.
const (
	Absent Flag = iota
	True
	False
)

// Clock is how a time is written.
type Clock uint8

// The forms of a time.
const (
	// Seconds since 1970 as a number with a fraction: adk-python and adk-js.
	Seconds Clock = iota
	// Milliseconds since 1970 as an integer: adk-java.
	Milliseconds
	// RFC3339 is a string: adk-go.
	RFC3339
)

// Content is what is said, as parts.
type Content struct {
	// Role is "user" or "model".
	Role string
	// Parts may be nil, which is not written.
	Parts []Part
}

// Part is a part of a content. It has one of Text, Call, Response, Inline, File, Code and CodeResult.
type Part struct {
	// Text is a text; nil is none, which is not the same as an empty one.
	Text *string
	// Thought marks a text as the model's reasoning.
	Thought Flag
	// Signature is the model's mark on the part, in base64.
	Signature  string
	Call       *Call
	Response   *Response
	Inline     *Blob
	File       *File
	Code       *Code
	CodeResult *CodeResult
	// Other has the part's other members.
	Other map[string]json.RawMessage
}

// Call is a call of a function.
type Call struct {
	ID, Name string
	// Args is an object; nil is not written.
	Args json.RawMessage
	// Other has the call's other members.
	Other map[string]json.RawMessage
}

// Response is what a function gave.
type Response struct {
	ID, Name string
	// Response is an object; nil is not written.
	Response json.RawMessage
	// Other has the response's other members.
	Other map[string]json.RawMessage
}

// Blob is data within the event.
type Blob struct {
	MIME string
	// Data is in base64, of either alphabet.
	Data string
	// Name is what people see.
	Name string
}

// File is data elsewhere.
type File struct{ MIME, URI, Name string }

// Code is a program that the model had run.
type Code struct{ ID, Language, Code string }

// CodeResult is what came of it.
type CodeResult struct{ ID, Outcome, Output string }

// Usage is the tokens of a model call.
type Usage struct {
	Prompt, Candidates, Total, Cached, Thoughts int64
	// Other has the other counts.
	Other map[string]json.RawMessage
}

// Actions are the side effects and the control of an event. A nil map is not written, an empty one is written as {}.
type Actions struct {
	// StateDelta are changes of the state. null is a value.
	StateDelta map[string]json.RawMessage
	// ArtifactDelta are the saved artifacts.
	ArtifactDelta map[string]Artifact
	// SkipSummarization makes the results of the event the answer.
	SkipSummarization Flag
	// TransferToAgent names the agent that goes on.
	TransferToAgent string
	// Escalate ends the loop around the agent.
	Escalate Flag
	// AuthConfigs and Confirmations are what is asked of a person, by the id of the call.
	AuthConfigs, Confirmations map[string]json.RawMessage
	// Other has the actions that Braid gives no meaning.
	Other map[string]json.RawMessage
}

// Artifact is the saved version of an artifact: a number or, from older Java, the part itself.
type Artifact struct {
	Version int64
	Part    *Part
}
