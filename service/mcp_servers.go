package service

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// toolPrefixEnd stands between the id of an MCP server and the name of a tool.
const toolPrefixEnd = "___"

// mcpServers returns the MCP servers of an agent, with headers for the run's tokens: those that it
// names, or all active ones of its tenant. A server without a token refuses the run. A run that was
// accepted before goes on without the server instead, and the server's Err says why.
func (b *OptionsBuilder) mcpServers(ctx context.Context, x *ExecutionContext, spec *directory.AgentSpec) (list []directory.ResolvedMCPServer,
	err error,
) {
	if b.Directory == nil || spec.MCPServers != nil && len(spec.MCPServers) == 0 {
		return nil, nil
	}
	all, err := b.Directory.MCPServers(ctx, x.Tenant.ID)
	if err != nil {
		return nil, err
	}
	for i := range all {
		s := &all[i]
		named := slices.Contains(spec.MCPServers, s.ID)
		switch {
		case spec.MCPServers != nil && !named:
		case s.Status != directory.Active && named:
			list = append(list, unusableMCPServer(s.ID, "the MCP server is not active"))
		case s.Status != directory.Active:
		case spec.MCPServers == nil && spec.Tools != nil && !mayHaveTools(spec.Tools, s.ID):
		default:
			r, err := s.Resolve(x.Tokens)
			r.Run.User = x.Principal.User
			if err != nil && !x.Accepted {
				return nil, err
			}
			if err != nil {
				r.Err = goneToken(x, err)
			}
			list = append(list, r)
		}
	}
	for _, id := range spec.MCPServers {
		if !slices.ContainsFunc(all, func(s directory.MCPServer) bool { return s.ID == id }) {
			list = append(list, unusableMCPServer(id, "there is no such MCP server"))
		}
	}
	return list, nil
}

// unusableMCPServer is a server that an agent names and cannot have.
func unusableMCPServer(id, why string) directory.ResolvedMCPServer {
	return directory.ResolvedMCPServer{
		Server: directory.MCPServer{ID: id}, Err: &event.Error{
			Op: "MCP server", Kind: event.ErrUnavailable, Message: why,
			Hint: "change the agent",
		},
	}
}

// goneToken returns the error of a server whose token an accepted run does not have. Tokens exist
// only in the memory of the process that accepted the run.
func goneToken(x *ExecutionContext, err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Code != directory.TokenMissing || len(x.Tokens) > 0 {
		return err
	}
	gone := *e
	gone.Message += "; a run's tokens end with the process that accepted it"
	gone.Hint = "start a new run with it"
	return &gone
}

// mayHaveTools reports whether one of the patterns can match a tool of a server. The beginning of a
// pattern that matches the server's prefix leaves the rest for the tool's name.
func mayHaveTools(patterns []string, server string) bool {
	prefix := server + toolPrefixEnd
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for i := range len(pattern) + 1 {
			if ok, err := path.Match(pattern[:i], prefix); ok && err == nil {
				return true
			}
		}
		return false
	})
}
