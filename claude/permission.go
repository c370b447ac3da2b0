package claude

import (
	"context"
	"encoding/json"
	"errors"
)

// PermissionMode is default, acceptEdits, bypassPermissions, plan, dontAsk or auto.
func PermissionMode(mode string) Option { return func(c *config) { c.permissions.mode = mode } }

// SkipPermissions permits mode bypassPermissions. As root the program also wants IS_SANDBOX=1.
func SkipPermissions() Option { return func(c *config) { c.permissions.skip = true } }

// PermissionPrompts says who answers prompts: "host", or "none" to deny what would need one.
func PermissionPrompts(who string) Option { return func(c *config) { c.permissions.prompts = who } }

// PermissionTool names a tool of an MCP server that answers permission prompts, in the place of [CanUseTool].
func PermissionTool(name string) Option { return func(c *config) { c.permissions.tool = name } }

// CanUseTool answers permission prompts. Its error denies the call, with the error's text for the model. It is called
// concurrently, and its context ends when the program no longer wants the answer.
func CanUseTool(f func(context.Context, *PermissionRequest) (Permission, error)) Option {
	return func(c *config) { c.permissions.ask = f }
}

// PermissionRequest asks whether a tool may run.
type PermissionRequest struct {
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	// AgentID is the sub-agent that calls; empty for the main agent.
	AgentID string `json:"agent_id"`
	// Suggestions are updates that would make the prompt superfluous.
	Suggestions []json.RawMessage `json:"permission_suggestions"`
	BlockedPath string            `json:"blocked_path"`
	Reason      string            `json:"decision_reason"`
	ReasonType  string            `json:"decision_reason_type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	// Server is the MCP server of the tool.
	Server struct {
		Name   string `json:"name"`
		Source string `json:"source"`
	} `json:"mcp_server"`
}

// Permission is an answer. The zero value denies.
type Permission struct {
	Allow bool
	// Input replaces the input of an allowed call; nil keeps it.
	Input json.RawMessage
	// Updates changes the rules, as one of the request's Suggestions.
	Updates []json.RawMessage
	// Message tells the model why a call was denied.
	Message string
	// Interrupt ends the turn with the denial.
	Interrupt bool
}

// answerPermission asks the function and returns the answer in the program's form.
func (c *config) answerPermission(ctx context.Context, request json.RawMessage) (any, error) {
	var r PermissionRequest
	if err := lenient(json.Unmarshal(request, &r)); err != nil || r.Tool == "" {
		return nil, errors.New("the permission request names no tool")
	}
	var p Permission
	err := guarded("the permission function", func() (err error) {
		p, err = c.permissions.ask(ctx, &r)
		return err
	})
	if err != nil {
		p = Permission{Message: err.Error()}
	}
	if !p.Allow {
		if p.Message == "" {
			p.Message = "The user does not permit this."
		}
		return map[string]any{"behavior": "deny", "message": p.Message, "interrupt": p.Interrupt}, nil
	}
	answer := map[string]any{"behavior": "allow", "updatedInput": p.Input}
	if p.Input == nil {
		answer["updatedInput"] = r.Input
	}
	if len(p.Updates) > 0 {
		answer["updatedPermissions"] = p.Updates
	}
	return answer, nil
}
