package journal

import (
	"encoding/json"
	"time"
)

// MessageQuery selects messages. An empty Run selects all of the conversation's.
type MessageQuery struct {
	Tenant       string
	Conversation string
	Run          string
	// After is the last message of the previous page; the zero value starts at the beginning.
	After MessagePlace
	// Limit is the maximum number of messages; 0 or less means all.
	Limit int
}

// MessagePlace identifies a message within its conversation by an event and a part of it.
type MessagePlace struct {
	Seq  int64
	Part int
}

// MessageEntry is a message or a part of one. A commit that redacts Seq erases its Content.
type MessageEntry struct {
	MessagePlace
	// Type is system, assistant, user or result.
	Type string
	// Subtype is the subtype within Type.
	Subtype string
	// Call is the tool_use_id that the message is about; empty for none.
	Call string
	// Parent is the tool_use_id of the call whose agent sent the message; empty for the main agent.
	Parent string
	// Content is JSON; nil if it was redacted.
	Content json.RawMessage
	Time    time.Time

	// The store sets the fields below; KeepMessages ignores them.

	Conversation string
	Run          string
	Turn         int
}
