package anthropic

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// settled removes server-side tool calls and results that the vendor would refuse. A result
// needs its call before it, and a call needs its result. Only a call in the last answer may
// still lack its result, and then only results of the agent's tools may follow
// (agents-and-tools/tool-use/server-tools#mixing-server-tools-and-client-tools-in-one-turn).
// Without this, a paused turn that a user interrupts with a message would break the
// conversation.
func settled(messages []event.Message) []event.Message {
	var calls, results map[string]int // ids to the index of their message
	for i := range messages {
		for _, b := range messages[i].Content {
			switch id, kind := serverID(b); kind {
			case serverCall:
				if calls == nil {
					calls = map[string]int{}
				}
				calls[id] = i
			case serverResult:
				if results == nil {
					results = map[string]int{}
				}
				results[id] = i
			}
		}
	}
	if calls == nil && results == nil {
		return messages
	}
	n := len(messages)
	waits := func(i int) bool { return i == n-1 || i == n-2 && onlyResults(messages[n-1].Content) }
	fits := func(i int, b event.Block) bool {
		id, kind := serverID(b)
		switch kind {
		case serverCall:
			at, answered := results[id]
			return answered && at >= i || !answered && waits(i)
		case serverResult:
			at, called := calls[id]
			return called && at <= i
		default:
			return true
		}
	}
	var all []event.Message
	for i := range messages {
		var content []event.Block
		for k, b := range messages[i].Content {
			switch ok := fits(i, b); {
			case !ok && content == nil:
				content = append(make([]event.Block, 0, len(messages[i].Content)), messages[i].Content[:k]...)
			case ok && content != nil:
				content = append(content, b)
			}
		}
		if content == nil {
			continue
		}
		if all == nil {
			all = append(all, messages...)
		}
		all[i].Content = content
	}
	if all == nil {
		return messages
	}
	return all
}

func onlyResults(content []event.Block) bool {
	for _, b := range content {
		if !isResult(b) {
			return false
		}
	}
	return len(content) > 0
}

// The two kinds of blocks that serverID reports.
const (
	serverCall   = 1
	serverResult = 2
)

// serverID returns the id of a server-side tool call or of its result. kind is 0 for other
// blocks.
func serverID(b event.Block) (id string, kind int) {
	u, ok := b.(*event.UnknownBlock)
	if !ok || !strings.HasPrefix(string(u.Name), own) {
		return "", 0
	}
	var member string
	switch {
	case u.Name == own+"server_tool_use", u.Name == own+"mcp_tool_use":
		member, kind = "id", serverCall
	case strings.HasSuffix(string(u.Name), "_tool_result"):
		member, kind = "tool_use_id", serverResult
	default:
		return "", 0
	}
	var r strictjson.Reader
	r.Reset(u.Raw, strictjson.DefaultDepth)
	for o := r.Object(); o.Next(); {
		if string(o.Key) == member {
			return string(r.Bytes()), kind
		}
		r.Skip()
	}
	return "", kind
}
