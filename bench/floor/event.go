package floor

import "time"

// Event is one thing that happened in a run.
type Event struct {
	// Seq numbers the finished events of a session from 1; 0 is a delta.
	Seq int64 `json:"seq,omitzero"`
	// N numbers the deltas of a run from 1; 0 is a finished event.
	N int64 `json:"n,omitzero"`
	// Session, Run and Author say where the event belongs.
	Session string    `json:"session,omitzero"`
	Run     string    `json:"run,omitzero"`
	Author  string    `json:"author,omitzero"`
	Time    time.Time `json:"time,omitzero"`
	// Kind says which of the next two holds something.
	Kind Kind `json:"kind,omitzero"`
	// Delta is the next piece of text or of a call's arguments.
	Delta string `json:"delta,omitzero"`
	// Message is a finished message.
	Message *Message `json:"message,omitzero"`
}

// Kind is what an event holds.
type Kind uint8

// The kinds of events.
const (
	UserSaid Kind = iota + 1
	TextDelta
	InputDelta
	ModelSaid
	ToolsDone
)

// Message is one turn of what the model sees.
type Message struct {
	// Role is "user" or "assistant".
	Role    string   `json:"role,omitzero"`
	Text    string   `json:"text,omitzero"`
	Calls   []Call   `json:"calls,omitzero"`
	Results []Result `json:"results,omitzero"`
	Stop    string   `json:"stop,omitzero"`
	Usage   Usage    `json:"usage,omitzero"`
}

// Call is the model's request to run a tool.
type Call struct {
	ID   string `json:"id,omitzero"`
	Name string `json:"name,omitzero"`
	Args []byte `json:"args,omitzero"`
}

// Result is what a tool gave back for a call.
type Result struct {
	Call    string `json:"call,omitzero"`
	Name    string `json:"name,omitzero"`
	Text    string `json:"text,omitzero"`
	IsError bool   `json:"iserror,omitzero"`
}

// Usage counts tokens.
type Usage struct {
	Input  int64 `json:"input,omitzero"`
	Output int64 `json:"output,omitzero"`
}
