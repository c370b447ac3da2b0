package main

import (
	"context"
	"os"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// mcpServers are the tool servers of the configuration; nil is none.
type mcpServers struct{ servers *mcptool.Servers }

// openMCP starts or reaches the servers of the file that the option names. One that
// cannot be reached is told and tried again later. Programs may be started: the file is
// the operator's own word.
func (p *process) openMCP(
	ctx context.Context, s *settings, own []braid.Tool, naming mcptool.Naming, warn func(server string, err error),
	skipped func(server, tool, why string),
) (*mcpServers, error) {
	if s.MCP == "" {
		return nil, nil //nolint:nilnil // a nil *mcpServers is one without servers
	}
	configs, err := p.readMCP(s)
	if err != nil {
		return nil, err
	}
	o := mcptool.Options{
		Commands: true, Naming: naming, ClientVersion: readBuild().Version,
		Skipped: func(server string, s mcptool.Skipped) { skipped(server, s.Tool, s.Why) },
	}
	for _, t := range own {
		o.Reserved = append(o.Reserved, t.Spec().Name)
	}
	servers, err := mcptool.Reach(ctx, o, configs...)
	if err != nil {
		return nil, err
	}
	for _, st := range servers.Status() {
		if st.Err != nil {
			warn(st.Name, st.Err)
		}
	}
	return &mcpServers{servers}, nil
}

// readMCP reads the file that the option names, with the values of the environment in
// their places.
func (p *process) readMCP(s *settings) ([]mcptool.Config, error) {
	data, err := os.ReadFile(s.MCP)
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the list of MCP servers cannot be read", Hint: "name a file with --mcp, such as mcp.json", Err: err,
		}
	}
	configs, err := mcptool.ParseConfig(data)
	if err != nil {
		return nil, err
	}
	for i := range configs {
		lookup := func(name string) (string, bool) {
			v := p.getenv(name)
			return v, v != ""
		}
		if configs[i], err = configs[i].Expand(lookup); err != nil {
			return nil, err
		}
	}
	return configs, nil
}

func (m *mcpServers) close() error {
	if m == nil {
		return nil
	}
	return m.servers.Close()
}

// parts are what an agent gets of the servers.
func (m *mcpServers) parts() []braid.Part {
	if m == nil {
		return nil
	}
	return []braid.Part{m.servers.Part()}
}

// announced tells an agent's runs how the servers are doing whose tools it has. Where it lacks tools, those that are not connected are
// told, too: the tools may be theirs.
func (m *mcpServers) announced(tools []braid.Tool, lacks bool) braid.Part {
	if m == nil {
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
func (m *mcpServers) tools() []braid.Tool {
	if m == nil {
		return nil
	}
	return m.servers.Tools()
}

// refresh tries again to reach the servers that are away. A run does not wait long for
// one that does not answer.
func (m *mcpServers) refresh(ctx context.Context) {
	if m == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	m.servers.Refresh(ctx)
}

func (m *mcpServers) status() []event.ToolServer {
	if m == nil {
		return nil
	}
	var list []event.ToolServer
	for _, s := range m.servers.Status() {
		list = append(list, event.ToolServer{Name: s.Name, Status: string(s.State)})
	}
	return list
}
