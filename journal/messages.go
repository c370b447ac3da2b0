package journal

import (
	"encoding/json"
	"time"
)

// MessageQuery says which messages are wanted. An empty Run is all of the conversation's.
type MessageQuery struct {
	Tenant       string
	Conversation string
	Run          string
	// After is the last message of the page before; the zero value begins.
	After MessagePlace
	// Limit is how many; 0 or less is all.
	Limit int
}

// MessagePlace names a message within its conversation: the event that says it, and which part of that.
type MessagePlace struct {
	Seq  int64
	Part int
}

// MessageEntry is one message, or a part of one. A commit that redacts Seq takes
// its Content away.
type MessageEntry struct {
	MessagePlace
	// Type is system, assistant, user or result, Subtype what kind of these.
	Type    string
	Subtype string
	// Call is the tool_use_id that it is about, Parent that of the call whose agent says it;
	// empty for none, and for the main agent.
	Call   string
	Parent string
	// Content is JSON; nil where it was redacted.
	Content json.RawMessage
	Time    time.Time

	// What follows is the store's: KeepMessages ignores it.

	Conversation string
	Run          string
	Turn         int
}
