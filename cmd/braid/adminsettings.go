package main

import (
	"errors"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/model"
)

// settings puts the flags for settings of a model's calls into the fields of an agent or a model. An empty value takes
// a setting away.
func (a *admin) settings(patch client.Patch) error {
	var s settings
	tier := func(v string) error { return parseTier(&s.ServiceTier, v) }
	for _, f := range []struct {
		flag, field string
		parse       func(v string) error
		value       func() any
	}{
		{"effort", "effort", func(v string) error { return parseEffort(&s.Effort, v) }, func() any { return s.Effort }},
		{"show-thinking", "show_thinking", func(v string) error { return parseChoice(&s.ShowThinking, v) }, func() any { return s.ShowThinking }},
		{"top-p", "top_p", func(v string) error { return parseTopP(&s.TopP, v) }, func() any { return s.TopP }},
		{"seed", "seed", func(v string) error { return parseSeed(&s.Seed, v) }, func() any { return s.Seed }},
		{"verbosity", "verbosity", func(v string) (err error) {
			s.Verbosity, err = parseWord(v, "low", "medium", "high")
			return err
		}, func() any { return s.Verbosity }},
		{"service-tier", "service_tier", tier, func() any { return s.ServiceTier }},
		{"server-tools", "server_tools", func(v string) (err error) {
			if v != "none" {
				s.ServerTools, err = parseServerTools(strings.Join(strings.Fields(v), "\n"))
			}
			if err == nil {
				err = sendable(s.ServerTools)
			}
			return err
		}, func() any { return toolFields(s.ServerTools) }},
	} {
		text, given := a.in.flags[f.flag]
		if !given {
			continue
		}
		if text == "" {
			patch[f.field] = nil
			continue
		}
		if err := f.parse(text); err != nil {
			return invalid("braid admin --help says what it takes", "--%s: %q %s", f.flag, fit(text, 60), err)
		}
		patch[f.field] = f.value()
	}
	return nil
}

// sendable refuses tools that the administration does not take.
func sendable(tools []serverTool) error {
	for i := range tools {
		if tools[i].Kind == model.RemoteMCP {
			return errors.New("names an MCP server, which only the options of braid serve do")
		}
	}
	return nil
}

// toolFields are tools as the API has them.
func toolFields(tools []serverTool) []client.ServerTool {
	list := make([]client.ServerTool, len(tools))
	for i := range tools {
		t := &tools[i].ServerTool
		list[i] = client.ServerTool{Kind: string(t.Kind), MaxUses: t.MaxUses, Domains: t.Domains, Blocked: t.Blocked, Stores: t.Stores}
	}
	return list
}
