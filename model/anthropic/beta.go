package anthropic

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
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

// header returns the additional header fields of a request.
func (m *Model) header(req *model.Request) (http.Header, error) {
	added := req.Options.Headers
	for name := range added {
		if http.CanonicalHeaderKey(name) == betaHeader {
			added = maps.Clone(added)
			maps.DeleteFunc(added, func(name, _ string) bool { return http.CanonicalHeaderKey(name) == betaHeader })
			break
		}
	}
	h, err := provider.Headers(op, added, ownHeaders...)
	if err != nil {
		return nil, err
	}
	names := m.betas(req)
	for _, name := range names {
		if !betaNames.MatchString(name) {
			return nil, notSent(event.ErrInvalid, "the header field %s has an invalid name of a beta",
				"write names as the vendor does, with commas between them", betaHeader)
		}
	}
	if len(names) > 0 && m.platform() != onBedrock {
		if h == nil {
			h = http.Header{}
		}
		h.Set(betaHeader, strings.Join(names, ","))
	}
	return h, nil
}
