package agents

import (
	"context"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// toolServers are the MCP servers of the options. The zero value has none.
type toolServers struct{ servers *mcptool.Servers }

// parts returns the servers' parts of an agent.
func (m toolServers) parts() []braid.Part {
	if m.servers == nil {
		return nil
	}
	return []braid.Part{braid.From(m.servers)}
}

// announced returns the part that records the state of the servers in the agent's runs: the servers
// of its tools, and if it lacks tools also those that are not connected, because the tools may be
// theirs.
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
	return braid.From(m.servers.Announced(func(s mcptool.Status) bool {
		return of[s.Name] || lacks && s.State != mcptool.StateConnected
	}))
}

// tools returns the tools that the servers offer now.
func (m toolServers) tools() []braid.Tool {
	if m.servers == nil {
		return nil
	}
	return m.servers.Tools()
}

// refreshTime bounds how long a run waits for servers that are not connected.
const refreshTime = 2 * time.Second

// refresh tries to connect the servers that are not connected.
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
