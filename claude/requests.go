package claude

import (
	"context"
	"encoding/json"
)

// SetModel has another model answer from the next model call on; empty is the program's default.
func (c *Client) SetModel(ctx context.Context, name string) error {
	var model any
	if name != "" {
		model = name
	}
	_, err := c.Control(ctx, "set_model", map[string]any{"model": model})
	return err
}

// SetPermissionMode changes the permission mode: see [PermissionMode].
func (c *Client) SetPermissionMode(ctx context.Context, mode string) error {
	_, err := c.Control(ctx, "set_permission_mode", map[string]any{"mode": mode})
	return err
}

// SetMaxThinkingTokens bounds how much models think; 0 turns thinking off.
func (c *Client) SetMaxThinkingTokens(ctx context.Context, tokens int) error {
	_, err := c.Control(ctx, "set_max_thinking_tokens", map[string]any{"max_thinking_tokens": tokens})
	return err
}

// StopTask ends a sub-agent or a background shell.
func (c *Client) StopTask(ctx context.Context, task string) error {
	_, err := c.Control(ctx, "stop_task", map[string]any{"task_id": task})
	return err
}

// RewindFiles brings files back to what they were at the user's message of this UUID, with [FileCheckpoints].
func (c *Client) RewindFiles(ctx context.Context, message string) error {
	_, err := c.Control(ctx, "rewind_files", map[string]any{"user_message_id": message})
	return err
}

// RenameSession gives the session a title.
func (c *Client) RenameSession(ctx context.Context, title string) error {
	_, err := c.Control(ctx, "rename_session", map[string]any{"title": title})
	return err
}

// ContextUsage says how full the model's context is.
type ContextUsage struct {
	Model      string  `json:"model"`
	Total      int64   `json:"totalTokens"`
	Max        int64   `json:"maxTokens"`
	Percentage float64 `json:"percentage"`
	Categories []struct {
		Name   string `json:"name"`
		Tokens int64  `json:"tokens"`
		// Kind is used, free, buffer or deferred.
		Kind string `json:"kind"`
	} `json:"categories"`
	// Raw is the whole answer.
	Raw json.RawMessage `json:"-"`
}

// ContextUsage asks how full the context is.
func (c *Client) ContextUsage(ctx context.Context) (ContextUsage, error) {
	var u ContextUsage
	raw, err := c.Control(ctx, "get_context_usage", nil)
	if err != nil {
		return u, err
	}
	u.Raw = raw
	return u, lenient(json.Unmarshal(raw, &u))
}

// MCPStatus lists the MCP servers and their states.
func (c *Client) MCPStatus(ctx context.Context) ([]MCPServer, error) {
	raw, err := c.Control(ctx, "mcp_status", nil)
	if err != nil {
		return nil, err
	}
	var s struct {
		Servers []MCPServer `json:"mcpServers"`
	}
	return s.Servers, lenient(json.Unmarshal(raw, &s))
}

// ReconnectMCP connects to an MCP server anew.
func (c *Client) ReconnectMCP(ctx context.Context, server string) error {
	_, err := c.Control(ctx, "mcp_reconnect", map[string]any{"serverName": server})
	return err
}

// ToggleMCP switches an MCP server on or off.
func (c *Client) ToggleMCP(ctx context.Context, server string, on bool) error {
	_, err := c.Control(ctx, "mcp_toggle", map[string]any{"serverName": server, "enabled": on})
	return err
}
