package main

import (
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server"
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
		Name: "public-url", Value: "URL",
		Help: "the address of this server for browsers, such as https://braid.example; users of tenants can then sign in to MCP servers",
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
	public, err := publicURL(in)
	if err != nil {
		return nil, err
	}
	return toolservers.New(toolservers.Options{
		SignIns:    signInsAt(public),
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

// publicURL returns the address of the server for browsers, without a slash at its end; empty for none.
func publicURL(in *conf.Invocation) (string, error) {
	text := strings.TrimSuffix(in.Flags["public-url"], "/")
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	local := err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !local) || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", term.Invalid("write it as https://braid.example; http is for this machine only",
			"--public-url: %q is no such address", term.Fit(text, 60))
	}
	return text, nil
}

// signInsAt returns the addresses for sign-ins to MCP servers.
func signInsAt(public string) toolservers.SignIns {
	if public == "" {
		return toolservers.SignIns{}
	}
	s := toolservers.SignIns{Redirect: public + server.CallbackPath}
	if strings.HasPrefix(public, "https://") {
		s.Metadata = public + server.ClientPath
	}
	return s
}

// publicHost returns the name of the server for browsers.
func publicHost(public string) []string {
	u, err := url.Parse(public)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}
