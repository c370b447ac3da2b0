package fold

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Tools that a provider runs itself leave blocks of the vendor's own in an answer: a call with an id, and a result that
// names it. A vendor refuses a history with only one of the two. That happens if an answer is cut, if a paused turn is not
// continued, or if a part of an answer is redacted or left out.

// Served identifies a vendor's block of a tool that the provider runs.
type Served struct {
	// Call is the block's own id if it is a call. Result is the id of the call whose result it is.
	Call, Result string
	name         string
}

// ServedBy reads a block. It returns the zero value for any other block.
func ServedBy(b event.Block) Served {
	u, ok := b.(*event.UnknownBlock)
	if !ok {
		return Served{}
	}
	// Vendors name such blocks server_tool_use, mcp_tool_use, web_search_tool_result and so on.
	call, result := strings.HasSuffix(string(u.Name), "_tool_use"), strings.HasSuffix(string(u.Name), "_tool_result")
	if !call && !result {
		return Served{}
	}
	var of struct {
		ID   string `json:"id"`
		Of   string `json:"tool_use_id"`
		Name string `json:"name"`
	}
	if json.Unmarshal(u.Raw, &of) != nil {
		return Served{}
	}
	if call {
		return Served{Call: of.ID, name: of.Name}
	}
	return Served{Result: of.Of}
}

// CloseOpenCalls replaces a provider's calls that have no result in content with text. It does not change the given
// slice.
func CloseOpenCalls(content []event.Block, why string) []event.Block {
	own := false
	for i, b := range content {
		s := ServedBy(b)
		if s.Call == "" || slices.ContainsFunc(content[i:], func(b event.Block) bool { return ServedBy(b).Result == s.Call }) {
			continue
		}
		if !own {
			content, own = slices.Clone(content), true
		}
		content[i] = &event.Text{Text: "[The call of " + strconv.Quote(s.name) + " " + why + ".]"}
	}
	return content
}

// withoutLoose replaces a provider's tool results with text if neither content nor the messages before it hold their call.
// served are further calls.
func withoutLoose(served []string, before []event.Message, content []event.Block) []event.Block {
	own := false
	for i, b := range content {
		s := ServedBy(b)
		is := func(b event.Block) bool { return ServedBy(b).Call == s.Result }
		told := func(m event.Message) bool { return m.Role == event.RoleAssistant && slices.ContainsFunc(m.Content, is) }
		if s.Result == "" || slices.ContainsFunc(content[:i], is) || slices.ContainsFunc(before, told) || slices.Contains(served, s.Result) {
			continue
		}
		if !own {
			content, own = slices.Clone(content), true
		}
		content[i] = &event.Text{Text: "[The result of a tool whose call is not shown.]"}
	}
	return content
}

// HasVendorBlocks reports whether the content has vendor-specific blocks. Most contents have none.
func HasVendorBlocks(content []event.Block) bool {
	return slices.ContainsFunc(content, func(b event.Block) bool { _, ok := b.(*event.UnknownBlock); return ok })
}
