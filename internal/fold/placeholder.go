package fold

import "github.com/braidrun/braid/event"

// These blocks replace results that cannot be shown.
var (
	interruptedResult = []event.Block{&event.Text{Text: "The tool call was interrupted before it gave a result."}}
	compactedResult   = []event.Block{&event.Text{Text: "[summarised]"}}
	RedactedContent   = []event.Block{&event.Text{Text: "[redacted]"}}
)

// Interrupted returns the result of a call whose own result is not known.
func Interrupted(c *event.ToolCall) *event.ToolResult {
	return &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: interruptedResult}
}

// Beginning is the user message that comes first if the rest of a conversation begins with the model's answer.
var Beginning = []event.Block{&event.Text{Text: "[The conversation goes on from here.]"}}
