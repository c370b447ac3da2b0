package main

import (
	"log/slog"
	"os"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/tool/mcptool"
)

// tenantServerFlags are the flags for the MCP servers of tenants.
var tenantServerFlags = []conf.Flag{
	{
		Name: "allow-host", Value: "LIST",
		Help: "hosts of tenants' MCP servers and webhooks besides public ones, such as intranet.example:8443,10.0.0.0/8; they need no TLS",
	},
	{
		Name: "tenant-programs", Value: "FILE",
		Help: "programs that tenants may use as MCP servers of type stdio, in the form of --mcp; each tenant gets a process of its own",
	},
}

// openTenantServers returns what connects the MCP servers of tenants.
func (p *process) openTenantServers(in *conf.Invocation, log *slog.Logger) (*toolservers.Pool, error) {
	programs, err := p.tenantPrograms(in.Flags["tenant-programs"])
	if err != nil {
		return nil, err
	}
	return toolservers.New(toolservers.Options{
		AllowHosts: conf.Words(in.Flags["allow-host"]), Programs: programs, Version: readBuild().Version, Log: log,
	})
}

// tenantPrograms reads the programs that the operator lists for tenants.
func (p *process) tenantPrograms(file string) (map[string]mcptool.Config, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the list of tenants' programs cannot be read", Hint: "name a file with --tenant-programs", Err: err,
		}
	}
	configs, err := p.expandMCP(data)
	if err != nil {
		return nil, err
	}
	programs := make(map[string]mcptool.Config, len(configs))
	for _, c := range configs {
		if c.Command == "" {
			return nil, &event.Error{
				Kind: event.ErrInvalid, Message: "the list of tenants' programs has an entry without a command",
				Hint: "leave it out: tenants name addresses themselves",
			}
		}
		programs[c.Name] = c
	}
	return programs, nil
}
