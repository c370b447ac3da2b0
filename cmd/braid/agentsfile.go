package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/agentfile"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// agentsFlag names a file whose agent takes the place of the command's own.
func agentsFlag() conf.Flag {
	return conf.Flag{
		Name: "agents", Value: "FILE",
		Help: "let the agent of a YAML file answer: an agent with sub-agents, a graph, swarm, sequence, parallel or loop",
	}
}

// checkAgentsFlag refuses what does not go with --agents. It gives the file's agents all built-in tools to name, unless --tools
// says which.
func checkAgentsFlag(cfg *conf.Config, in *conf.Invocation) error {
	if _, given := in.Flags["agents"]; !given {
		return nil
	}
	for name, instead := range map[string]string{
		"schema": "write output into the file instead", "server": "the server has agents of its own; leave one of them out",
	} {
		if _, both := in.Flags[name]; both {
			return term.Invalid(instead, "--agents and --%s do not go together", name)
		}
	}
	if in.Flags["runtime"] != "" && in.Flags["runtime"] != "native" {
		return term.Invalid("leave one of them out", "--agents and --runtime %s do not go together", term.CleanLine(in.Flags["runtime"]))
	}
	if _, both := in.Options["instructions"]; both {
		return term.Invalid("write instructions into the file instead", "--agents and --instructions do not go together")
	}
	if cfg.Tools == "auto" {
		cfg.Tools = strings.Join(conf.ToolNames, ",")
	}
	return nil
}

// readAgentsFile reads the text of a file.
func readAgentsFile(name string) ([]byte, error) {
	shown := term.CleanLine(term.Fit(name, 80))
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &event.Error{
			Kind: event.ErrNotFound, Message: "there is no file " + shown, Hint: "check that --agents names the right file", Err: err,
		}
	case err == nil && info.IsDir():
		return nil, term.Invalid("name a file with --agents", "%s is a folder", shown)
	}
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, agentfile.MaxBytes+1)); err == nil {
			return data, nil
		}
	}
	return nil, &event.Error{Kind: event.ErrPermission, Message: shown + " cannot be read", Hint: "check its permissions", Err: err}
}

// fileAgent puts the agent of --agents in the place of the command's own. m is the model of agents that name none, and others
// are its fallbacks.
func (p *process) fileAgent(s *conf.Settings, in *conf.Invocation, c *agentSetup, m braid.Model, others []braid.Model, rec *recording) error {
	name, given := in.Flags["agents"]
	if !given {
		return nil
	}
	data, err := readAgentsFile(name)
	if err != nil {
		return err
	}
	each, err := p.agentParts(s)
	if err != nil {
		return err
	}
	permit := permitParts(s, "")
	c.models = nil
	names := agentfile.Names{Tools: map[string]tool.Tool{}, NodeTools: map[string]tool.Tool{}, Default: m, Model: rec.open}
	names.Parts = func(used model.Model, tools []tool.Tool) []braid.Part {
		if used == nil {
			return permit
		}
		c.models = append(c.models, used)
		parts := append(slices.Concat(each, permit, c.told(tools)), contextParts(s, s.Context, len(tools) > 0)...)
		if used.Info().Name == m.Info().Name {
			parts = append(parts, fallbackParts(s, others)...)
		}
		return parts
	}
	for _, t := range c.tools() {
		name := t.Spec().Name
		names.Tools[name] = t
		if !held(s, name) {
			names.NodeTools[name] = t
		}
	}
	file, err := agentfile.Read(data, names)
	if err != nil {
		return inFile(name, err)
	}
	c.agent = file.Agent.Use(append([]braid.Part{braid.Limit(s.RunLimits())}, c.root...)...)
	return c.agent.Err()
}

// inFile puts the name of a file in front of its error.
func inFile(name string, err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	one := *e
	one.Message = term.CleanLine(filepath.Base(name)) + ": " + e.Message
	return &one
}

// held reports whether a tool may be refused, or asks first. A node of a graph does not run such a tool.
func held(s *conf.Settings, name string) bool {
	p := s.Permit
	asksForShell(s, &p)
	p.Allow = nil
	return len(p.Idle([]string{name})) < len(p.Ask)+len(p.Deny)
}

// tools returns the tools that a file may name: those of the command's own agent without what its settings add, such as the
// search of tools.
func (c *agentSetup) tools() []tool.Tool {
	tools := c.own
	for _, source := range c.sources {
		tools = slices.Concat(tools, source.Tools())
	}
	return tools
}

// told returns what the sources of these tools say to the model.
func (c *agentSetup) told(tools []tool.Tool) (parts []braid.Part) {
	for _, source := range c.sources {
		if text := source.Instructions(); text != "" && shares(source.Tools(), tools) {
			parts = append(parts, braid.From(words(text)))
		}
	}
	return parts
}

// shares reports whether two lists have a tool of one name.
func shares(a, b []tool.Tool) bool {
	return slices.ContainsFunc(a, func(one tool.Tool) bool {
		return slices.ContainsFunc(b, func(other tool.Tool) bool { return one.Spec().Name == other.Spec().Name })
	})
}

// words are a source without tools.
type words string

func (words) Tools() []tool.Tool     { return nil }
func (w words) Instructions() string { return string(w) }

// info describes the model of the agent. For a flow it is the first simulated model below it, or else the first one.
func (c *agentSetup) info() model.Info {
	if m := c.agent.Model(); m != nil {
		return m.Info()
	}
	var first model.Info
	for _, m := range c.models {
		info := m.Info()
		if info.Simulated {
			return info
		}
		if first.Name == "" {
			first = info
		}
	}
	first.Name = cmp.Or(first.Name, c.agent.Name())
	return first
}

// simulated returns the description of the first simulated model; of none if the models are real.
func (c *agentSetup) simulated() model.Info {
	models := c.models
	if m := c.agent.Model(); m != nil {
		models = append(slices.Clip(models), m)
	}
	for _, m := range models {
		if info := m.Info(); info.Simulated {
			return info
		}
	}
	return model.Info{}
}

// checkAgents makes the agents of --agents and discards them.
func checkAgents(_ context.Context, d *diagnosis) {
	name, given := d.in.Flags["agents"]
	if !given {
		d.ok("no file of agents is named")
		return
	}
	dir, err := os.MkdirTemp("", "braid-doctor-")
	if err != nil {
		return // checkScratch reports it
	}
	defer d.p.onExit(func() { _ = os.RemoveAll(dir) })()
	cfg := *d.cfg
	if err := checkAgentsFlag(&cfg, d.in); err != nil {
		d.brokenBy(err, "")
		return
	}
	m, err := d.p.openModel(&cfg.Settings, cfg.Model)
	if err != nil {
		return // checkModel reports it
	}
	cfg.Scratch = ""
	setup, err := d.p.buildAgent(&cfg.Settings, m, nil, dir)
	if err != nil {
		d.brokenBy(err, "correct the options")
		return
	}
	defer setup.close()
	if err := d.p.fileAgent(&cfg.Settings, d.in, setup, m, nil, &recording{p: d.p, settings: &cfg.Settings}); err != nil {
		d.brokenBy(err, "correct the file of --agents")
		return
	}
	d.ok("%s defines the agent %s; agents with a model: %d", term.CleanLine(filepath.Base(name)), setup.agent.Name(), len(setup.models))
}
