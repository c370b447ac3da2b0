package toolservers

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcptool"
)

// Set is the tools that the servers of one run offer, as they were when the run began. It is a
// [tool.ServerSource].
type Set struct {
	tools   []tool.Tool
	servers []event.ToolServer
	said    string
	ask     []string
	deny    []string
	allow   []string
}

var _ tool.ServerSource = (*Set)(nil)

// For returns the tools of servers for a run. It connects those that are not connected, all at
// once, and waits for a while. A server that cannot be used has no tools, and its state says why;
// a required one is an error of kind [event.ErrUnavailable] with the code MCP_SERVER_FAILED.
//
// wanted reports whether the agent may have a tool of a name. nil means all. A tool whose name is
// in reserved is left out.
func (p *Pool) For(
	ctx context.Context, servers []directory.ResolvedMCPServer, store directory.MCPStore, reserved map[string]bool, wanted func(name string) bool,
) (*Set, error) {
	if len(servers) == 0 {
		return &Set{}, nil
	}
	opened := p.openAll(ctx, servers, store)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := 0
	for i := range opened {
		n += len(opened[i].list.tools)
	}
	s, taken := &Set{tools: make([]tool.Tool, 0, n)}, make(map[string]bool, n)
	var frames []string
	size := 0
	for i := range servers {
		l, status := opened[i].list, opened[i].status
		if servers[i].Server.Required && status.Status != statusConnected && (status.Status != statusNeedsAuth || len(l.tools) == 0) {
			return nil, &event.Error{
				Op: "MCP server", Kind: event.ErrUnavailable, Code: codeFailed,
				Message: "the MCP server " + strconv.Quote(servers[i].Server.ID) + " is required and cannot be used: " + status.Reason,
				Hint:    "Try again later, or make it not required.",
			}
		}
		for _, t := range l.tools {
			name := t.spec.Name
			switch {
			case wanted != nil && !wanted(name):
				continue
			case reserved[name] || taken[name]:
				status.Skipped = append(slices.Clip(status.Skipped), event.SkippedTool{
					Tool: plain(t.inner.name, 200),
					Why:  "another tool is called " + name,
				})
				continue
			}
			taken[name] = true
			s.tools = append(s.tools, t)
			switch t.permission {
			case directory.ToolAllow:
				s.allow = append(s.allow, name)
			case directory.ToolAsk:
				s.ask = append(s.ask, name)
			case directory.ToolDeny:
				s.deny = append(s.deny, name)
			}
		}
		s.servers = append(s.servers, status)
		if text := opened[i].said; text != "" && len(l.tools) > 0 && size+len(text) <= mostSaid {
			frames, size = append(frames, text), size+len(text)
		}
	}
	s.said = mcptool.Framed(frames...)
	return s, nil
}

// found is what a server offers a run.
type found struct {
	list   listed
	status event.ToolServer
	said   string
}

// openAll connects the servers, all at once.
func (p *Pool) openAll(ctx context.Context, servers []directory.ResolvedMCPServer, store directory.MCPStore) []found {
	all := make([]found, len(servers))
	var wait sync.WaitGroup
	for i := range servers {
		s := &servers[i]
		if s.Err != nil {
			all[i].status = event.ToolServer{Name: s.Server.ID, Status: statusFailed, Reason: reasonOf(s.Err)}
			continue
		}
		c, give, err := p.connection(s, store)
		if err != nil {
			all[i].status = event.ToolServer{Name: s.Server.ID, Status: statusFailed, Reason: reasonOf(err)}
			continue
		}
		use := func() {
			all[i].list, all[i].status = c.current()
			if from := c.opened(); from != nil {
				all[i].said = from.instructions()
			}
			give()
		}
		if !c.waits() { // usual: it is connected, and its list is new
			use()
			continue
		}
		patience := p.options.Patience
		if s.Server.Required {
			patience = p.options.ConnectTimeout
		}
		wait.Go(func() {
			c.ready(ctx, patience)
			use()
		})
	}
	wait.Wait()
	return all
}

// Tools implements [tool.Source].
func (s *Set) Tools() []tool.Tool { return s.tools }

// Instructions implements [tool.Source].
func (s *Set) Instructions() string { return s.said }

// ToolServers implements [tool.ServerSource].
func (s *Set) ToolServers() []event.ToolServer { return s.servers }

// Permissions returns the names of the tools that overrides allow, ask for and deny.
func (s *Set) Permissions() (allow, ask, deny []string) { return s.allow, s.ask, s.deny }
