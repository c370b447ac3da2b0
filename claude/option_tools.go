package claude

import (
	"context"
	"encoding/json"
	"maps"
)

// Tools sets the built-in tools that there are; none for no names.
func Tools(names ...string) Option { return func(c *config) { c.tools.set = &names } }

// AllowTools names tools that run without a permission prompt, such as "Read" or "Bash(git *)". It hides no others.
func AllowTools(rules ...string) Option { return func(c *config) { c.tools.allowed = rules } }

// DenyTools names tools that never run.
func DenyTools(rules ...string) Option { return func(c *config) { c.tools.denied = rules } }

// ToolAliases has a call of each key run the tool that its value names.
func ToolAliases(names map[string]string) Option {
	return func(c *config) { c.tools.aliases = maps.Clone(names) }
}

// Server is an MCP server that the program starts or connects to.
type Server struct {
	// Type is stdio, http or sse.
	Type string `json:"type"`
	// Command, Args and Env start a stdio server.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// URL and Headers are those of the others.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// TimeoutMillis bounds a call of a tool; 0 is the program's default.
	TimeoutMillis int `json:"timeout,omitempty"`
}

// MCP adds an MCP server. Its configuration goes through standard input, not into the arguments.
func MCP(name string, s Server) Option {
	return func(c *config) {
		if c.tools.servers == nil {
			c.tools.servers = map[string]Server{}
		}
		c.tools.servers[name] = s
	}
}

// InProcess adds an MCP server that runs in this program. Its tools are named mcp__NAME__TOOL.
func InProcess(name string, s *ToolServer) Option {
	return func(c *config) {
		if s == nil {
			return
		}
		if c.tools.own == nil {
			c.tools.own = map[string]*ToolServer{}
		}
		c.tools.own[name] = s
	}
}

// StrictMCP ignores the MCP servers of settings files.
func StrictMCP() Option { return func(c *config) { c.tools.strict = true } }

// Elicitation is a question of an MCP server for the user.
type Elicitation struct {
	Server  string `json:"mcp_server_name"`
	Message string `json:"message"`
	// Mode is form or url.
	Mode   string          `json:"mode"`
	URL    string          `json:"url"`
	ID     string          `json:"elicitation_id"`
	Schema json.RawMessage `json:"requested_schema"`
}

// ElicitationAnswer answers one.
type ElicitationAnswer struct {
	// Action is accept, decline or cancel.
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// OnElicitation answers the questions of MCP servers. Without it the program declines them.
func OnElicitation(f func(context.Context, *Elicitation) (ElicitationAnswer, error)) Option {
	return func(c *config) { c.tools.elicit = f }
}

// Dialog is a choice that the program wants the user to make.
type Dialog struct {
	Kind    string          `json:"dialog_kind"`
	Payload json.RawMessage `json:"payload"`
}

// OnDialog shows dialogs of the given kinds. Its answer is encoded as JSON.
func OnDialog(kinds []string, f func(context.Context, *Dialog) (any, error)) Option {
	return func(c *config) { c.tools.dialogs, c.tools.dialog = kinds, f }
}
