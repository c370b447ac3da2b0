package toolservers

import (
	"context"
	"maps"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/mcptool"
)

// mcpSource is an MCP server.
type mcpSource struct {
	servers *mcptool.Servers
	guard   *netguard.Guard
	// id is the name of the server among servers.
	id string
}

// openMCP connects to an MCP server. A server that cannot be reached is no error: it has a state.
func (p *Pool) openMCP(
	ctx context.Context, s *directory.ResolvedMCPServer, hidden directory.MCPSecrets, store directory.MCPStore,
) (source, error) {
	o := mcptool.Options{
		Naming: mcptool.Prefixed, ConnectTimeout: p.options.ConnectTimeout, MessageBytes: mostBytes, TextBytes: mostText, MaxTools: MostTools,
		InstructionBytes: mostInstructions, ClientVersion: p.options.Version, Inherit: mcptool.DefaultInherit(),
		ElicitAsQuestion: true,
	}
	m := &mcpSource{id: s.Server.ID}
	c := mcptool.Config{
		Name: s.Server.ID, URL: s.Server.URL, SSE: s.Server.Type == directory.MCPSSE, Proxy: "none", Tools: s.Server.Tools, Hide: s.Run.Tokens,
	}
	if s.Server.Type == directory.MCPStdio {
		c, o.Commands = p.options.Programs[s.Server.Program], true
		c.Name, c.Tools, c.Disabled = s.Server.ID, s.Server.Tools, false
	} else {
		var err error
		// A stream lasts. mcptool bounds each message and each call.
		if m.guard, err = netguard.New(netguard.Options{Allow: p.options.AllowHosts, Timeout: -1, MaxBytes: -1}); err != nil {
			return nil, err
		}
		o.Transport = m.guard
		o.SignIn = p.signIn(s, hidden, store)
		c.Headers = maps.Clone(s.Run.Headers)
		if c.Headers == nil {
			c.Headers = make(map[string]secret.Secret, len(hidden.Headers))
		}
		for name, value := range hidden.Headers {
			c.Headers[name] = value
			c.Hide = append(c.Hide, value)
		}
	}
	var err error
	if m.servers, err = mcptool.Reach(ctx, o, c); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *mcpSource) lists() int64 { return m.servers.Lists() }

func (m *mcpSource) tools() (list []listedTool) {
	for _, t := range m.servers.Tools() {
		if t, ok := t.(*mcptool.Tool); ok {
			list = append(list, listedTool{t, t.Name(), t.Digest()})
		}
	}
	return list
}

func (m *mcpSource) state() (status, reason string, skipped []event.SkippedTool) {
	s := m.servers.ToolServers()[0]
	return s.Status, s.Reason, s.Skipped
}

func (m *mcpSource) calm() bool { return m.servers.Status()[0].State == mcptool.StateConnected }

func (m *mcpSource) instructions() string { return m.servers.Frames() }

func (m *mcpSource) renew(ctx context.Context) { m.servers.Renew(ctx) }

func (m *mcpSource) granted(ctx context.Context) bool { return m.servers.Granted(ctx, m.id) }

func (m *mcpSource) close() {
	_ = m.servers.Close() // it never fails
	if m.guard != nil {
		m.guard.CloseIdleConnections()
	}
}
