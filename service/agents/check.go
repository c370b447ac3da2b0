package agents

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/mcptool"
)

// References returns checks of directory entries against the factory and against the server's
// environment, which getenv reads. They make no network requests. They are for
// [directory.Options].References.
func (a *Factory) References(getenv func(name string) string) directory.References {
	return directory.References{
		Model: func(m *directory.Model) error {
			if err := models.CheckOwn(m.Provider, m.Name, m.Region); err != nil {
				return err
			}
			if m.Credential.Env != "" && getenv(m.Credential.Env) == "" { // only the operator may name one
				return invalid("set it and start the server again, or name another", "the server's environment does not have the variable")
			}
			return a.checkSettings(m)
		},
		Agent:     a.checkAgent,
		Skills:    a.skillNames(),
		MCPServer: a.checkMCPServer,
		Name: func(name string) error {
			_, err := models.Named(name)
			return err
		},
	}
}

// checkMCPServer refuses a server that no run could use.
func (a *Factory) checkMCPServer(s *directory.MCPServer, document []byte) error {
	if a.options.TenantServers == nil {
		return nil // they are stored, and not connected
	}
	return a.options.TenantServers.Check(s, document)
}

// checkSettings returns an error for a setting that a directory's model does not support. It opens
// the model with a dummy key. If that fails the model's runs report the reason.
func (a *Factory) checkSettings(m *directory.Model) error {
	if !m.Any() || a.options.Models == nil {
		return nil
	}
	own := models.Own{Ref: m.Provider + ":" + m.Name, Key: secret.New("no-key"), Region: m.Region}
	opened, err := a.options.Models.OpenOwn(own)
	if errors.Is(err, event.ErrInvalid) { // it takes no key
		own.Key = secret.Secret{}
		opened, err = a.options.Models.OpenOwn(own)
	}
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	o := service.AgentOptions{Settings: m.Settings}
	if err := braid.New(DefaultName, opened, braid.Options(o.ModelOptions(model.Options{}))).Err(); errors.Is(err, event.ErrUnsupported) {
		return err
	}
	return nil
}

// checkAgent refuses an agent with patterns that match no tool.
func (a *Factory) checkAgent(spec *directory.AgentSpec) error {
	// The tools of a server that is not connected are unknown.
	if slices.ContainsFunc(a.mcp.status(), func(s event.ToolServer) bool { return s.Status != string(mcptool.StateConnected) }) {
		return nil
	}
	tools := slices.Concat(a.tools, a.shellTools(), a.mcp.tools(), skillTools)
	fits := func(path string, patterns []string) error {
		for i, pattern := range patterns {
			if len(chosen(tools, []string{pattern})) == 0 && !a.mayBeTenants(pattern) {
				return invalid(suggest("tools", namesOf(tools)), "%s[%d]: no tool fits %q", path, i, short(pattern))
			}
		}
		return nil
	}
	if err := fits("tools", spec.Tools); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.SubAgents)) {
		if err := fits("sub_agents."+name+".tools", spec.SubAgents[name].Tools); err != nil {
			return err
		}
	}
	return nil
}

// mayBeTenants reports whether a pattern may mean tools of the tenant's MCP servers. Those are not
// known before a run connects them.
func (a *Factory) mayBeTenants(pattern string) bool {
	return a.options.TenantServers != nil && strings.Contains(pattern, "___")
}

func namesOf(tools []braid.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Spec().Name)
	}
	return names
}

// mostKnown bounds how many names a hint lists.
const mostKnown = 50

// suggest returns a hint with the valid names.
func suggest(what string, names []string) string {
	if len(names) == 0 {
		return "leave it out: this server has no " + what
	}
	slices.Sort(names)
	more := ""
	if len(names) > mostKnown {
		names, more = names[:mostKnown], " and more"
	}
	return "the " + what + " are " + strings.Join(names, ", ") + more
}

// short cuts a long name.
func short(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

func invalid(hint, format string, args ...any) *event.Error {
	return &event.Error{Kind: event.ErrInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}
