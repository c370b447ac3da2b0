package journal

import (
	"context"
	"encoding/json"
	"time"
)

// MessageKeeper is what some stores keep for people who read: what was said in a conversation,
// message by message (seed 4's message_logs). It is a projection of the log: whoever keeps a run's
// messages makes them from its events, and can make them anew at any time.
//
// All methods are safe for concurrent use and answer *[event.Error]s as [Store] does.
type MessageKeeper interface {
	// KeepMessages keeps a run's messages in the place of those that it has, in one transaction;
	// each has a Seq and Part of its own. ErrNotFound for an unknown run.
	KeepMessages(ctx context.Context, run string, list []MessageEntry) error
	// Messages lists a conversation's messages in their order. An unknown conversation, or
	// another tenant's, has none; an empty one is ErrInvalid.
	Messages(ctx context.Context, q MessageQuery) ([]MessageEntry, error)
	// Unkept lists the conversation's runs that have ended and of whose first event no message is
	// kept, by their turns: nobody has kept any of them. Another tenant's has none.
	Unkept(ctx context.Context, tenant, conversation string) ([]string, error)
}

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
