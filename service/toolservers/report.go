package toolservers

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Offer is how a server answers, beside any run.
type Offer struct {
	event.ToolServer

	Tools []*Tool
}

// Ask connects to a server now, or renews its list, and returns what a run would get.
func (p *Pool) Ask(ctx context.Context, s *directory.ResolvedMCPServer, store directory.MCPStore) (Offer, error) {
	c, give, err := p.connection(s, store)
	if err != nil {
		return Offer{}, err
	}
	defer give()
	c.mu.Lock()
	if c.attempt == nil {
		c.tried = c.tried.Add(-p.options.ListEvery - p.options.RetryAfter)
	}
	c.mu.Unlock()
	c.ready(ctx, p.options.ConnectTimeout)
	if err := ctx.Err(); err != nil {
		return Offer{}, err
	}
	l, status := c.current()
	return Offer{status, l.tools}, nil
}

// Permission returns the tool's permission after the overrides. Empty means none.
func (t *Tool) Permission() directory.ToolPermission { return t.permission }
