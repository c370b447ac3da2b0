package agents

import (
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/task"
)

// tenantServers are the MCP servers of tenants. The zero value connects none.
type tenantServers struct{ pool *toolservers.Pool }

// parts returns the part of an agent with the tools of its tenant's servers, and how many tools
// there are. own are the tools that the agent has already: a tenant's tool never takes the place of
// one of them.
func (t tenantServers) parts(
	ctx context.Context, o *service.AgentOptions, r *run, own []braid.Tool,
) (parts []braid.Part, n int, err error) {
	if t.pool == nil || len(o.MCPServers) == 0 {
		return nil, 0, nil
	}
	reserved := make(map[string]bool, len(own)+len(o.SubAgents))
	for _, tool := range own {
		reserved[tool.Spec().Name] = true
	}
	for name, sub := range o.SubAgents {
		reserved[name] = true
		reserved[task.Name] = reserved[task.Name] || sub.Task != nil
	}
	var wanted func(name string) bool
	if o.Tools != nil {
		wanted = func(name string) bool { return matches(name, o.Tools) }
	}
	set, err := t.pool.For(ctx, o.MCPServers, r.store, reserved, wanted)
	if err != nil {
		return nil, 0, err
	}
	parts = []braid.Part{braid.From(set)}
	if allow, ask, deny := set.Permissions(); len(allow)+len(ask)+len(deny) > 0 {
		parts = append(parts, braid.Permit(braid.Permissions{Allow: allow, Ask: ask, Deny: deny, Grants: r.grants}))
	}
	return parts, len(set.Tools()), nil
}

// Fetch reads an OpenAPI document for a tenant. It implements [service.ToolServers].
func (a *Factory) Fetch(ctx context.Context, address string) ([]byte, error) {
	return a.options.TenantServers.Fetch(ctx, address)
}

// Test connects to a tenant's server and lists its tools. It implements [service.ToolServers].
func (a *Factory) Test(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (service.ToolServerReport, error) {
	offer, err := a.options.TenantServers.Ask(ctx, s, store)
	if err != nil {
		return service.ToolServerReport{}, err
	}
	report := service.ToolServerReport{
		Status: offer.Status, Reason: offer.Reason, Skipped: offer.Skipped, Tools: make([]service.ReportedTool, 0, len(offer.Tools)),
	}
	for _, t := range offer.Tools {
		report.Tools = append(report.Tools, service.ReportedTool{
			Name: t.Spec().Name, Tool: t.Name(), Description: t.Spec().Description, Effect: t.Traits().Effect, Permission: t.Permission(),
		})
	}
	return report, nil
}

// BeginSignIn implements [service.ToolServers].
func (a *Factory) BeginSignIn(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (service.SignInLink, error) {
	l, err := a.options.TenantServers.Begin(ctx, s, store)
	if err != nil {
		return service.SignInLink{}, err
	}
	return service.SignInLink{ID: l.ID, URL: l.URL, Issuer: l.Issuer, Scopes: l.Scopes, Expires: l.Expires}, nil
}

// PeekSignIn implements [service.ToolServers].
func (a *Factory) PeekSignIn(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, in service.SignInAnswer) error {
	return a.options.TenantServers.Peek(ctx, s, store, toolservers.Answer(in))
}

// CompleteSignIn implements [service.ToolServers].
func (a *Factory) CompleteSignIn(
	ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore, in service.SignInAnswer,
) (service.SignedIn, error) {
	done, err := a.options.TenantServers.Complete(ctx, s, store, toolservers.Answer(in))
	return service.SignedIn(done), err
}

// SignOut implements [service.ToolServers].
func (a *Factory) SignOut(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) error {
	return a.options.TenantServers.SignOut(ctx, s, store)
}

// ToolServers returns what reaches the MCP servers of tenants. It is for
// [service.Options].ToolServers, and nil if the factory connects none.
func (a *Factory) ToolServers() service.ToolServers {
	if a.options.TenantServers == nil {
		return nil
	}
	return a
}
