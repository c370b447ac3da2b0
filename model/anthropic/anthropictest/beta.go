package anthropictest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The betas that the server knows (api/beta-headers).
const (
	betaToolChanges = "mid-conversation-tool-changes-2026-07-01"
	betaInlineTools = "inline-tools-2026-09-15"
	betaMCP         = "mcp-client-2026-09-15"
	betaOldMCP      = "mcp-client-2025-11-20"
	betaClear       = "context-management-2025-06-27"
	betaCompact     = "compact-2026-01-12"
)

var knownBetas = []string{
	betaToolChanges, betaInlineTools, betaMCP, betaOldMCP, betaClear, betaCompact,
	"context-1m-2025-08-07", "fast-mode-2026-02-01", "files-api-2025-04-14", "interleaved-thinking-2025-05-14", "output-128k-2025-02-19",
	"task-budgets-2026-03-13", "thinking-display-updates-2026-08-18", "thinking-binding-controls-2026-08-01", "compact-2026-09-04",
	"mid-conversation-output-config-2026-07-01", "mid-conversation-system-clear-at-2026-08-21",
}

// allBetas records the names of betas from the header, or from the body on Amazon Bedrock.
func (c *checker) allBetas(names []string) {
	c.betas = map[string]bool{}
	for _, name := range names {
		for one := range strings.SplitSeq(name, ",") {
			one = strings.TrimSpace(one)
			if !slices.Contains(knownBetas, one) {
				c.fail("Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation at docs.claude.com "+
					"or try again without the header.", one)
			}
			c.betas[one] = true
		}
	}
}

// bodyBetas records the betas of Amazon Bedrock, which has no such header.
func (c *checker) bodyBetas(o object) {
	var names []string
	if raw, ok := o["anthropic_beta"]; ok && (json.Unmarshal(raw, &names) != nil || len(names) == 0) {
		c.fail("anthropic_beta: Input should be a valid list")
	}
	c.allBetas(names)
	for _, beta := range []string{betaInlineTools, betaToolChanges, betaMCP, betaOldMCP} {
		if c.betas[beta] {
			c.fail("invalid beta flag")
		}
	}
}

// contextManagement checks how the vendor should shorten the conversation.
func (c *checker) contextManagement(o object) {
	raw, ok := o["context_management"]
	if !ok {
		return
	}
	if !c.betas[betaClear] && !c.betas[betaCompact] {
		c.fail("context_management: Extra inputs are not permitted")
	}
	m := c.object(raw, "context_management", "edits")
	for i, edit := range c.list(m["edits"], "context_management.edits") {
		at := fmt.Sprintf("context_management.edits.%d", i)
		switch typeOf(edit) {
		case "clear_tool_uses_20250919":
			e := c.object(edit, at, "type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs")
			c.count(e["trigger"], at+".trigger", 1, "input_tokens", "tool_uses")
			if e["keep"] != nil {
				c.count(e["keep"], at+".keep", 0, "tool_uses")
			}
			if !c.betas[betaClear] {
				c.fail("%s: clear_tool_uses_20250919 requires the %s beta", at, betaClear)
			}
		case "compact_20260112":
			e := c.object(edit, at, "type", "trigger", "instructions", "pause_after_compaction")
			c.count(e["trigger"], at+".trigger", 50_000, "input_tokens")
			if !c.betas[betaCompact] {
				c.fail("%s: compact_20260112 requires the %s beta", at, betaCompact)
			}
			if late(c.model) < 406 {
				c.fail("%s: compaction is not supported on this model", at)
			}
			c.compacts = true
		default:
			c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, typeOf(edit))
		}
	}
}

func (c *checker) count(raw []byte, at string, least int64, kinds ...string) {
	v := c.object(raw, at, "type", "value")
	if kind := c.str(v, at, "type"); !slices.Contains(kinds, kind) {
		c.fail("%s.type: Input should be %s", at, strings.Join(kinds, ", "))
	}
	var n int64
	if json.Unmarshal(v["value"], &n) != nil || n < least {
		c.fail("%s.value: Input should be greater than or equal to %d", at, least)
	}
}

// servers checks the MCP servers. Each has exactly one toolset.
func (c *checker) servers(o object) {
	raw, ok := o["mcp_servers"]
	if ok && !c.betas[betaMCP] && !c.betas[betaOldMCP] {
		c.fail("mcp_servers: Extra inputs are not permitted")
	}
	names := map[string]bool{}
	if ok {
		for i, s := range c.list(raw, "mcp_servers") {
			at := fmt.Sprintf("mcp_servers.%d", i)
			v := c.object(s, at, "type", "name", "url", "authorization_token", "tool_configuration")
			if c.str(v, at, "type") != "url" || !strings.HasPrefix(c.str(v, at, "url"), "https://") {
				c.fail("%s.url: MCP server URLs must start with https://", at)
			}
			name := c.str(v, at, "name")
			if names[name] {
				c.fail("mcp_servers: MCP server names must be unique")
			}
			names[name] = true
			if !c.toolsets[name] {
				c.fail("MCP server '%s' is defined but not referenced by any toolset", name)
			}
		}
	}
	for name := range c.toolsets {
		if !names[name] {
			c.fail("MCP server '%s' not found in mcp_servers definitions", name)
		}
	}
}

// The members of the tools that the vendor runs, by the prefix of their types.
var (
	webMembers = []string{
		"type", "name", "max_uses", "allowed_domains", "blocked_domains", "cache_control", "allowed_callers", "defer_loading", "strict",
	}
	serverTypes = map[string]struct {
		name    string
		members []string
		least   int
	}{
		"web_search_20250305": {"web_search", append(slices.Clone(webMembers), "user_location"), 305},
		"web_search_20260209": {"web_search", append(slices.Clone(webMembers), "user_location"), 406},
		"web_search_20260318": {"web_search", append(slices.Clone(webMembers), "user_location", "response_inclusion"), 406},
		"web_fetch_20250910":  {"web_fetch", append(slices.Clone(webMembers), "citations", "max_content_tokens"), 305},
		"web_fetch_20260318": {
			"web_fetch", append(slices.Clone(webMembers), "citations", "max_content_tokens", "use_cache", "response_inclusion"), 406,
		},
		"code_execution_20250825": {"code_execution", []string{"type", "name", "cache_control", "allowed_callers", "defer_loading", "strict"}, 305},
		"code_execution_20260521": {"code_execution", []string{"type", "name", "cache_control", "allowed_callers", "defer_loading", "strict"}, 405},
	}
)

// serverTool checks a tool that the vendor runs. It returns its name, or "" for a toolset.
func (c *checker) serverTool(raw []byte, kind, at string) string {
	if c.server.bedrock {
		c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
		return ""
	}
	if kind == "mcp_toolset" {
		t := c.object(raw, at, "type", "mcp_server_name", "default_config", "configs", "cache_control", "tools")
		name := c.str(t, at, "mcp_server_name")
		if c.toolsets[name] {
			c.fail("MCP server '%s' is referenced by multiple toolsets", name)
		}
		c.toolsets[name] = true
		c.cached(t, at)
		if !c.betas[betaMCP] && !c.betas[betaOldMCP] {
			c.fail("%s: Input tag 'mcp_toolset' found using 'type' does not match any of the expected tags", at)
		}
		return ""
	}
	known, ok := serverTypes[kind]
	if !ok {
		c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
		return ""
	}
	t := c.object(raw, at, known.members...)
	if late(c.model) < known.least {
		c.fail("'%s' does not support tool types: %s.", c.model, kind)
	}
	if c.str(t, at, "name") != known.name {
		c.fail("%s.name: Input should be '%s'", at, known.name)
	}
	if t["allowed_domains"] != nil && t["blocked_domains"] != nil {
		c.fail("%s: only one of allowed_domains and blocked_domains may be set", at)
	}
	for _, list := range []string{"allowed_domains", "blocked_domains"} {
		for _, d := range c.optional(t, list) {
			var host string
			if json.Unmarshal(d, &host) != nil || strings.Contains(host, "://") || strings.HasPrefix(host, "*") {
				c.fail("%s.%s: %s is not a valid domain", at, list, d)
			}
		}
	}
	var uses int64
	if t["max_uses"] != nil && (json.Unmarshal(t["max_uses"], &uses) != nil || uses < 1) {
		c.fail("%s.max_uses: Input should be greater than 0", at)
	}
	c.cached(t, at)
	return known.name
}

// midway reports whether the model accepts messages with the role system
// (build-with-claude/mid-conversation-system-messages).
func (c *checker) midway() bool {
	g := late(c.model)
	return !c.server.bedrock && (g == 408 && strings.Contains(c.model, "opus") || g > 500 || g == 500 && !strings.Contains(c.model, "sonnet"))
}

// change checks a message with the role system. after is the message before it, next the one after it.
func (c *checker) change(raw []byte, at, before, next string) {
	m := c.object(raw, at, "role", "content")
	switch {
	case !c.midway():
		c.fail("role 'system' is not supported on this model")
	case before == "":
		c.fail("%s: use the top-level 'system' parameter for the initial system prompt", at)
	case before == "assistant" && !c.last.served, !slices.Contains([]string{"user", "system", "assistant"}, before),
		!slices.Contains([]string{"", "assistant", "system"}, next):
		c.fail("%s: a system message must follow a user message and be followed by an assistant message or end the array", at)
	}
	content := c.list(m["content"], at+".content")
	if len(content) == 0 {
		c.fail("%s: all messages must have non-empty content", at)
	}
	for i, b := range content {
		at := fmt.Sprintf("%s.content.%d", at, i)
		switch kind := typeOf(b); kind {
		case "text":
			c.text(c.object(b, at, "type", "text", "cache_control"), at)
		case "tool_addition", "tool_removal":
			if !c.betas[betaInlineTools] && !c.betas[betaToolChanges] {
				c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
			}
			if before == "assistant" {
				c.fail("%s: %s is not accepted after a paused turn", at, kind)
			}
			c.toolChange(b, at, kind)
		default:
			c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
		}
	}
}

func (c *checker) toolChange(raw []byte, at, kind string) {
	b := c.object(raw, at, "type", "tool", "cache_control")
	c.cached(b, at)
	switch of := typeOf(b["tool"]); {
	case of == "tool_reference":
		name := c.str(c.object(b["tool"], at+".tool", "type", "name"), at+".tool", "name")
		if _, declared := c.tools[name]; !declared {
			c.fail("%s.tool: tool_reference_unresolved: no tool named '%s' is declared", at, name)
		}
		c.tools[name] = kind == "tool_addition"
	case of == "tool_definition" && kind == "tool_addition":
		if !c.betas[betaInlineTools] {
			c.fail("%s.tool: tool_definition requires the %s beta", at, betaInlineTools)
		}
		c.tools[c.tool(c.object(b["tool"], at+".tool", "type", "definition")["definition"], at+".tool.definition")] = true
	default:
		c.fail("%s.tool: Input tag '%s' found using 'type' does not match any of the expected tags", at, of)
	}
}
