package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// ToolServers reaches the MCP servers of tenants beside their runs. All methods are safe for
// concurrent use.
type ToolServers interface {
	// Fetch reads an OpenAPI document from an address that a tenant named.
	Fetch(ctx context.Context, address string) ([]byte, error)
	// Test connects to a server as a run does, and lists its tools.
	Test(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (ToolServerReport, error)
	// BeginSignIn begins a sign-in of the user of s, or returns the one that is under way.
	BeginSignIn(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (SignInLink, error)
	// PeekSignIn returns the error of CompleteSignIn for an answer to no sign-in, and changes nothing.
	PeekSignIn(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, a SignInAnswer) error
	// CompleteSignIn ends a sign-in of the user of s. One that has ended without a grant is returned with its error.
	CompleteSignIn(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, a SignInAnswer) (SignedIn, error)
	// SignOut forgets the grant of the user of s, and ends it at its authorization server.
	SignOut(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) error
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
