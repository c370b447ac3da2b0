package agents

import (
	"context"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// toolServers are the MCP servers of the options; the zero value is none.
type toolServers struct{ servers *mcptool.Servers }

// parts are what an agent gets of the servers.
func (m toolServers) parts() []braid.Part {
	if m.servers == nil {
		return nil
	}
	return []braid.Part{m.servers.Part()}
}

// announced tells an agent's runs how the servers are doing whose tools it has. Where it lacks tools, those that are not connected are
// told, too: the tools may be theirs.
func (m toolServers) announced(tools []braid.Tool, lacks bool) braid.Part {
	if m.servers == nil {
		return braid.Parts()
	}
	of := make(map[string]bool)
	for _, t := range tools {
		if s, ok := t.(interface{ Server() string }); ok {
			of[s.Server()] = true
		}
	}
	return m.servers.Announce(func(s mcptool.Status) bool { return of[s.Name] || lacks && s.State != mcptool.StateConnected })
}

// tools are those that the servers offer now.
func (m toolServers) tools() []braid.Tool {
	if m.servers == nil {
		return nil
	}
	return m.servers.Tools()
}

// refreshTime is how long a run waits for servers that are away.
const refreshTime = 2 * time.Second

// refresh tries again to reach the servers that are away.
func (m toolServers) refresh(ctx context.Context) {
	if m.servers == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, refreshTime)
	defer stop()
	m.servers.Refresh(ctx)
}

func (m toolServers) status() []event.ToolServer {
	if m.servers == nil {
		return nil
	}
	var list []event.ToolServer
	for _, s := range m.servers.Status() {
		list = append(list, event.ToolServer{Name: s.Name, Status: string(s.State)})
	}
	return list
}
