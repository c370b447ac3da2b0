package floor

import "time"

// Event is one thing that happened in a run.
type Event struct {
	// Seq numbers the finished events of a session from 1; 0 is a delta.
	Seq int64
	// N numbers the deltas of a run from 1; 0 is a finished event.
	N int64
	// Session, Run and Author say where the event belongs.
	Session string
	Run     string
	Author  string
	Time    time.Time
	// Kind says which of the next two holds something.
	Kind Kind
	// Delta is the next piece of text or of a call's arguments.
	Delta string
	// Message is a finished message.
	Message *Message
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
	Role    string
	Text    string
	Calls   []Call
	Results []Result
	Stop    string
	Usage   Usage
}

// Call is the model's request to run a tool.
type Call struct {
	ID   string
	Name string
	Args []byte
}

// Result is what a tool gave back for a call.
type Result struct {
	Call    string
	Name    string
	Text    string
	IsError bool
}

// Usage counts tokens.
type Usage struct{ Input, Output int64 }
