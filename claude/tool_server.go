package claude

import (
	"context"
	"encoding/json"
	"slices"
)

// ToolServer is an MCP server in this process. It must not be changed once a process uses it.
type ToolServer struct {
	// Version is told to the program; empty is "1".
	Version string
	// Instructions tell the model how to use the tools.
	Instructions string
	Tools        []Tool
}

// Tool is a function that the model can call.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object; nil for no arguments.
	Schema json.RawMessage
	// ReadOnly says that the tool changes nothing.
	ReadOnly bool
	// Call runs the tool. It is called concurrently. The text of its error is the result for the model.
	Call func(context.Context, ToolCall) (ToolResult, error)
}

// ToolCall is one call.
type ToolCall struct {
	// ID is that of the tool_use block; empty if the program does not tell it.
	ID   string
	Args json.RawMessage
}

// ToolResult is what a tool returned.
type ToolResult struct {
	Content []ToolContent `json:"content"`
	IsError bool          `json:"isError"`
	// Structured is the result as a JSON object; nil for none.
	Structured json.RawMessage `json:"structuredContent,omitempty"`
}

// ToolContent is a part of a result.
type ToolContent struct {
	// Type is text, image or audio.
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Data is in base64; MIMEType is its type.
	Data     string `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

// TextResult is a result of one text.
func TextResult(text string) ToolResult {
	return ToolResult{Content: []ToolContent{{Type: "text", Text: text}}}
}

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// protocolVersions are the versions of MCP that this server speaks; the newest first.
var protocolVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// answer returns the JSON-RPC answer to a message, or an empty one for a notification.
func (s *ToolServer) answer(ctx context.Context, name string, message json.RawMessage) any {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := lenient(json.Unmarshal(message, &m)); err != nil || m.Method == "" {
		return reply(m.ID, nil, &rpcError{-32600, "the message is no JSON-RPC request"})
	}
	if len(m.ID) == 0 {
		return map[string]any{"jsonrpc": "2.0", "id": 0, "result": map[string]any{}}
	}
	switch m.Method {
	case "initialize":
		return reply(m.ID, s.hello(name, m.Params), nil)
	case "ping":
		return reply(m.ID, map[string]any{}, nil)
	case "tools/list":
		return reply(m.ID, map[string]any{"tools": s.list()}, nil)
	case "tools/call":
		result, failed := s.call(ctx, m.Params)
		return reply(m.ID, result, failed)
	}
	return reply(m.ID, nil, &rpcError{-32601, "there is no method " + m.Method})
}

func reply(id json.RawMessage, result any, failed *rpcError) any {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	r := map[string]any{"jsonrpc": "2.0", "id": id}
	if failed != nil {
		r["error"] = failed
	} else {
		r["result"] = result
	}
	return r
}

func (s *ToolServer) hello(name string, params json.RawMessage) any {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // an odd request gets the newest version
	version := protocolVersions[0]
	if slices.Contains(protocolVersions, p.Version) {
		version = p.Version
	}
	own := s.Version
	if own == "" {
		own = "1"
	}
	h := map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
		"serverInfo": map[string]any{"name": name, "version": own},
	}
	if s.Instructions != "" {
		h["instructions"] = s.Instructions
	}
	return h
}

func (s *ToolServer) list() []map[string]any {
	tools := make([]map[string]any, 0, len(s.Tools))
	for _, t := range s.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		one := map[string]any{"name": t.Name, "description": t.Description, "inputSchema": schema}
		if t.ReadOnly {
			one["annotations"] = map[string]any{"readOnlyHint": true}
		}
		tools = append(tools, one)
	}
	return tools
}

func (s *ToolServer) call(ctx context.Context, params json.RawMessage) (any, *rpcError) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
		Meta struct {
			ID string `json:"claudecode/toolUseId"`
		} `json:"_meta"`
	}
	if err := lenient(json.Unmarshal(params, &p)); err != nil {
		return nil, &rpcError{-32602, "the parameters cannot be read"}
	}
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == p.Name })
	if i < 0 || s.Tools[i].Call == nil {
		return nil, &rpcError{-32602, "there is no tool " + p.Name}
	}
	if len(p.Args) == 0 {
		p.Args = json.RawMessage("{}")
	}
	var result ToolResult
	err := guarded("tool "+p.Name, func() (err error) {
		result, err = s.Tools[i].Call(ctx, ToolCall{ID: p.Meta.ID, Args: p.Args})
		return err
	})
	if err != nil {
		result = TextResult(err.Error())
		result.IsError = true
	}
	if result.Content == nil {
		result.Content = []ToolContent{}
	}
	return result, nil
}
