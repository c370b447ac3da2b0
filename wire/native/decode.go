package native

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// Decode reads the data of the frame with this name. A frame that this version
// does not know is nil without an error, and so are fields that it does not know:
// servers may be newer than clients. The error is [event.ErrInvalid].
func Decode(name string, data []byte) (Frame, error) {
	f := empty(name)
	if f == nil {
		return nil, nil //nolint:nilnil // a frame that is not known is none, and no error
	}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, &event.Error{
			Op: "read stream", Kind: event.ErrInvalid, Message: "a frame " + name + " cannot be read",
			Hint: "the other side may not be Braid, or something between changes what it sends", Err: err,
		}
	}
	return f, nil
}

// empty is a frame of this name with nothing in it.
func empty(name string) Frame {
	switch name {
	case "text_delta":
		return new(TextDelta)
	case "thinking":
		return new(Thinking)
	case "tool_progress":
		return new(ToolProgress)
	case "tool_use":
		return new(ToolUse)
	case "tool_result":
		return new(ToolResult)
	case "subagent_start":
		return new(SubagentStart)
	case "subagent_end":
		return new(SubagentEnd)
	case "node_start":
		return new(NodeStart)
	case "node_end":
		return new(NodeEnd)
	case "transfer":
		return new(Transfer)
	case "message":
		return new(Message)
	case "snapshot":
		return new(Snapshot)
	case "retry":
		return new(Retry)
	case "redacted":
		return new(Redacted)
	case "init":
		return new(Init)
	case "user_message":
		return new(UserMessage)
	case "question":
		return new(Question)
	case "answered":
		return new(Answered)
	case "notice":
		return new(Notice)
	case "title":
		return new(Title)
	case "result":
		return new(Result)
	case "error":
		return new(Error)
	default:
		return nil
	}
}
