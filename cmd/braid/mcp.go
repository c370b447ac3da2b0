package main

import (
	"context"
	"os"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// openMCP starts or connects to the MCP servers of the file. It reports a server that it cannot reach, and
// retries later. It may start programs: the operator wrote the file. signIns is nil if no user can sign in.
func (p *process) openMCP(
	ctx context.Context, s *conf.Settings, own []braid.Tool, naming mcptool.Naming, signIns *signIns, warn func(server string, err error),
	skipped func(server, tool, why string),
) (*mcptool.Servers, error) {
	if s.MCP == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	configs, err := p.readMCP(s)
	if err != nil {
		return nil, err
	}
	o := mcptool.Options{
		Commands: true, Naming: naming, ClientVersion: readBuild().Version, ElicitAsQuestion: true,
		Skipped: func(server string, s mcptool.Skipped) { skipped(server, s.Tool, s.Why) },
	}
	if signIns != nil {
		o.SignIn = signIns.client
	}
	for _, t := range own {
		o.Reserved = append(o.Reserved, t.Spec().Name)
	}
	servers, err := mcptool.Reach(ctx, o, configs...)
	if err != nil {
		return nil, err
	}
	for _, st := range servers.Status() {
		if st.Err != nil && (signIns == nil || st.State != mcptool.StateNeedsAuth) {
			warn(st.Name, st.Err)
		}
	}
	return servers, nil
}

// readMCP reads the file and inserts values of the environment.
func (p *process) readMCP(s *conf.Settings) ([]mcptool.Config, error) {
	data, err := os.ReadFile(s.MCP)
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the list of MCP servers cannot be read", Hint: "name a file with --mcp, such as mcp.json", Err: err,
		}
	}
	return p.expandMCP(data)
}

// expandMCP parses a list of MCP servers and inserts values of the environment.
func (p *process) expandMCP(data []byte) ([]mcptool.Config, error) {
	configs, err := mcptool.ParseConfig(data)
	if err != nil {
		return nil, err
	}
	for i := range configs {
		lookup := func(name string) (string, bool) {
			v := p.Getenv(name)
			return v, v != ""
		}
		if configs[i], err = configs[i].Expand(lookup); err != nil {
			return nil, err
		}
	}
	return configs, nil
}

// closeMCP closes the servers, if there are any.
func closeMCP(servers *mcptool.Servers) error {
	if servers == nil {
		return nil
	}
	return servers.Close()
}
