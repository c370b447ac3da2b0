package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

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
