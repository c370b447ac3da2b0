package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Betas that Braid requests (api/beta-headers, and AnthropicBeta of the vendor's SDKs).
const (
	// betaInlineTools is for tools that are added and removed between messages
	// (build-with-claude/mid-conversation-system-messages#define-tools-in-a-message-beta).
	betaInlineTools = "inline-tools-2026-09-15"
	// betaMCP is for remote MCP servers, and for answers that list the tools of such a server
	// (agents-and-tools/mcp-connector#pin-mcp-tool-list).
	betaMCP = "mcp-client-2026-09-15"
	// betaClear clears old tool results (build-with-claude/context-editing). betaCompact
	// summarises a request that is too long (build-with-claude/compaction-threshold). The newer
	// beta compact-2026-09-04 differs: such a request does nothing but summarise.
	betaClear   = "context-management-2025-06-27"
	betaCompact = "compact-2026-01-12"
)

// betas returns the names of the betas that req needs or asks for, without duplicates.
func (m *Model) betas(req *model.Request) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	o := &req.Options
	if m.setups() && toolsChange(req) {
		add(betaInlineTools)
	}
	asksMCP := func(t model.ServerTool) bool { return t.Kind == model.RemoteMCP }
	if slices.ContainsFunc(o.ServerTools, asksMCP) || holds(req.Messages, own+"mcp_tool_listing") {
		add(betaMCP)
	}
	if o.Context.ClearResults > 0 {
		add(betaClear)
	}
	if o.Context.Compact > 0 {
		add(betaCompact)
	}
	for _, name := range m.extraBetas {
		add(name)
	}
	for name, value := range o.Headers {
		if http.CanonicalHeaderKey(name) != betaHeader {
			continue
		}
		for beta := range strings.SplitSeq(value, ",") {
			add(strings.TrimSpace(beta))
		}
	}
	return names
}

// holds reports whether an assistant message contains a block of this kind.
func holds(messages []event.Message, kind event.BlockKind) bool {
	for i := range messages {
		if messages[i].Role != event.RoleAssistant {
			continue
		}
		for _, b := range messages[i].Content {
			if u, ok := b.(*event.UnknownBlock); ok && u.Name == kind {
				return true
			}
		}
	}
	return false
}
