package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// ToolServers reaches the MCP servers of tenants beside their runs. All methods are safe for
// concurrent use.
type ToolServers interface {
	// Fetch reads an OpenAPI document from an address that a tenant named.
	Fetch(ctx context.Context, address string) ([]byte, error)
	// Test connects to a server as a run does, and lists its tools.
	Test(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (ToolServerReport, error)
}

// ToolServerReport says how an MCP server answers.
type ToolServerReport struct {
	// Status is connected, failed, needs-auth or disabled.
	Status string `json:"status"`
	// Reason says why it is not connected.
	Reason string `json:"reason,omitempty"`
	// Tools are the tools that a run gets.
	Tools []ReportedTool `json:"tools"`
	// Skipped are the tools that are left out, and why.
	Skipped []event.SkippedTool `json:"skipped,omitempty"`
}

// ReportedTool is a tool of an MCP server.
type ReportedTool struct {
	// Name is the name for the model.
	Name string `json:"name"`
	// Tool is the server's own name.
	Tool        string                   `json:"tool"`
	Description string                   `json:"description,omitempty"`
	Effect      event.Effect             `json:"effect"`
	Permission  directory.ToolPermission `json:"permission,omitempty"`
}

// FetchDocument reads an OpenAPI document for a tenant's server. It returns
// [event.ErrUnsupported] if this service connects no servers of tenants.
func (s *Service) FetchDocument(ctx context.Context, address string) ([]byte, error) {
	if s.options.ToolServers == nil {
		return nil, noToolServers("fetch document")
	}
	return s.options.ToolServers.Fetch(ctx, address)
}

// TestMCPServer connects to a server of a tenant with these tokens, and lists its tools. A server
// that cannot be reached is a report and no error. An inactive server can be tested.
func (s *Service) TestMCPServer(ctx context.Context, server *directory.MCPServer, tokens map[string]secret.Secret) (ToolServerReport, error) {
	if s.options.Directory == nil || s.options.ToolServers == nil {
		return ToolServerReport{}, noToolServers("test MCP server")
	}
	resolved, err := server.Resolve(tokens)
	if err != nil {
		return ToolServerReport{}, err
	}
	return s.options.ToolServers.Test(ctx, &resolved, s.options.Directory)
}

func noToolServers(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "this service connects no MCP servers of tenants", Hint: "ask the operator of this service",
	}
}
