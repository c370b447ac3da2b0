package admin

import (
	"errors"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/model"
)

// settings copies the flags for model calls into the fields of an agent or a model. An empty value removes
// a setting.
func (a *admin) settings(patch client.Patch) error {
	var s conf.Settings
	tier := func(v string) error { return conf.ParseTier(&s.ServiceTier, v) }
	for _, f := range []struct {
		flag, field string
		parse       func(v string) error
		value       func() any
	}{
		{"effort", "effort", func(v string) error { return conf.ParseEffort(&s.Effort, v) }, func() any { return s.Effort }},
		{
			"show-thinking", "show_thinking", func(v string) error { return conf.ParseChoice(&s.ShowThinking, v) },
			func() any { return s.ShowThinking },
		},
		{"top-p", "top_p", func(v string) error { return conf.ParseTopP(&s.TopP, v) }, func() any { return s.TopP }},
		{"seed", "seed", func(v string) error { return conf.ParseSeed(&s.Seed, v) }, func() any { return s.Seed }},
		{"verbosity", "verbosity", func(v string) (err error) {
			s.Verbosity, err = conf.ParseWord(v, "low", "medium", "high")
			return err
		}, func() any { return s.Verbosity }},
		{"service-tier", "service_tier", tier, func() any { return s.ServiceTier }},
		{"server-tools", "server_tools", func(v string) (err error) {
			if v != "none" {
				s.ServerTools, err = conf.ParseServerTools(strings.Join(strings.Fields(v), "\n"))
			}
			if err == nil {
				err = sendable(s.ServerTools)
			}
			return err
		}, func() any { return toolFields(s.ServerTools) }},
	} {
		text, given := a.in.Flags[f.flag]
		if !given {
			continue
		}
		if text == "" {
			patch[f.field] = nil
			continue
		}
		if err := f.parse(text); err != nil {
			return term.Invalid("braid admin --help says what it takes", "--%s: %q %s", f.flag, term.Fit(text, 60), err)
		}
		patch[f.field] = f.value()
	}
	return nil
}

// sendable refuses tools that the API does not accept.
func sendable(tools []conf.ServerTool) error {
	for i := range tools {
		if tools[i].Kind == model.RemoteMCP {
			return errors.New("names an MCP server, which only the options of braid serve do")
		}
	}
	return nil
}

// toolFields returns tools in the form of the API.
func toolFields(tools []conf.ServerTool) []client.ServerTool {
	list := make([]client.ServerTool, len(tools))
	for i := range tools {
		t := &tools[i].ServerTool
		list[i] = client.ServerTool{Kind: string(t.Kind), MaxUses: t.MaxUses, Domains: t.Domains, Blocked: t.Blocked, Stores: t.Stores}
	}
	return list
}
