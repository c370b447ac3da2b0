package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/demotool"
	"github.com/braidrun/braid/tool/mcptool"
)

// agentSetup is an agent with the resources that close releases.
type agentSetup struct {
	agent *braid.Agent
	// models are those of the agents below a flow.
	models []braid.Model
	// own are its built-in tools, and sources those of the others. root has the parts of a run's outermost agent.
	own     []tool.Tool
	sources []tool.Source
	root    []braid.Part
	// signIns are the sign-ins to its MCP servers; nil if nobody signs in.
	signIns *signIns
	close   func()
}

// buildAgent makes the agent of the settings. Without a folder for files in the settings it creates and
// uses scratch.
func (p *process) buildAgent(s *conf.Settings, model braid.Model, others []braid.Model, scratch string) (*agentSetup, error) {
	info := model.Info()
	parts, err := p.agentParts(s)
	if err != nil {
		return nil, err
	}
	parts = append(parts, braid.Limit(s.RunLimits()))
	parts = append(append(parts, fallbackParts(s, others)...), runtimeParts(s, model)...)
	if err := checkText("the option instructions", s.Instructions); s.Instructions != "" && err != nil {
		return nil, err
	}
	tools, closeTools, err := p.openTools(toolsFor(s.Tools, info), s.Scratch, scratch)
	if err != nil {
		return nil, err
	}
	files, err := openWorkspace(context.Background(), s)
	if err != nil {
		closeTools()
		return nil, err
	}
	closeScratch := closeTools
	closeTools = func() { files.close(); closeScratch() }
	shell, err := openShell(context.Background(), s, files.files)
	if err != nil {
		closeTools()
		return nil, err
	}
	skills, err := loadSkills(s, func(problem skill.Problem) {
		message, hint := term.Describe(problem)
		fmt.Fprintf(p.Stderr, "braid: the skill %s is left out: %s (%s)\n", term.CleanLine(problem.Folder),
			printer.OneLine(message), printer.OneLine(hint))
	})
	if err != nil {
		closeTools()
		return nil, err
	}
	own := slices.Concat(tools, files.Tools(), shell.Tools(), skills.Tools())
	signIns, err := p.openSignIns(s)
	if err != nil {
		closeTools()
		return nil, err
	}
	closeFiles := closeTools
	closeTools = func() { signIns.close(); closeFiles() }
	mcp, err := p.openMCP(context.Background(), s, own, mcptool.Bare, signIns, func(server string, err error) {
		message, _ := term.Describe(err)
		fmt.Fprintf(p.Stderr, "braid: the tools of %s are missing: %s\n", term.CleanLine(server), printer.OneLine(message))
	}, func(server, tool, why string) {
		fmt.Fprintf(p.Stderr, "braid: the tool %s of %s is left out: %s\n", term.CleanLine(quoted(tool)), term.CleanLine(server),
			printer.OneLine(why))
	})
	if err != nil {
		closeTools()
		return nil, err
	}
	apis, err := p.openAPIs(context.Background(), s, own, func(api, tool, why string) {
		fmt.Fprintf(p.Stderr, "braid: an operation of %s is left out: %s\n", term.CleanLine(api), printer.OneLine(strings.TrimSpace(tool+" "+why)))
	})
	if err != nil {
		_ = closeMCP(mcp)
		closeTools()
		return nil, err
	}
	telemetry, err := p.interactiveTelemetry()
	if err != nil {
		closeAPIs(apis)
		_ = closeMCP(mcp)
		closeTools()
		return nil, err
	}
	parts = append(parts, telemetry.parts()...)
	closeAll := p.onExit(func() { closeAPIs(apis); _ = closeMCP(mcp); closeTools(); telemetry.close() })
	parts = append(parts, braid.Instructions(s.Instructions), braid.From(files), braid.From(shell))
	signIns.serve(mcp)
	sources := []tool.Source{files, shell, skills}
	if mcp != nil {
		parts = append(parts, braid.From(mcp))
		sources = append(sources, mcp)
	}
	for _, api := range apis {
		source := sourceOf(api, s.ToolSearch)
		parts, sources = append(parts, braid.From(source)), append(sources, source)
	}
	parts = append(append(parts, braid.From(skills), braid.Tools(tools...)), permitParts(s, "")...)
	worksWithTools := len(own) > 0 || s.MCP != "" || len(apis) > 0
	if s.Schema != nil {
		parts = append(parts, braid.OutputSchema(s.Schema))
	}
	agent := braid.New(printer.AgentName, model, append(parts, contextParts(s, s.Context, worksWithTools)...)...)
	if err := agent.Err(); err != nil {
		closeAll()
		return nil, err
	}
	for _, pattern := range idlePatterns(s, agent) {
		fmt.Fprintf(p.Stderr, "braid: %s fits none of the tools, so what is said of it holds nothing back\n", term.CleanLine(quoted(pattern)))
	}
	if mcp != nil {
		mcp.Follow(agent, func(err error) {
			message, _ := term.Describe(err)
			fmt.Fprintf(p.Stderr, "braid: %s\n", printer.OneLine(message))
		})
	}
	return &agentSetup{agent: agent, own: tools, sources: sources, root: telemetry.parts(), signIns: signIns, close: closeAll}, nil
}

// agentParts returns what the settings say of each agent with a model.
func (p *process) agentParts(s *conf.Settings) ([]braid.Part, error) {
	asked, err := p.ModelOptions(s)
	if err != nil {
		return nil, err
	}
	parts := []braid.Part{braid.Options(asked), braid.Retries(braid.Retry{Attempts: s.Attempts})}
	if s.Sequential {
		parts = append(parts, braid.Sequential())
	}
	return parts, nil
}

// contextOf returns the settings that keep an agent within its model's context.
func contextOf(s *conf.Settings) agents.Context {
	return agents.Context{
		How: s.Context, Window: s.Window, Tokens: s.ContextTokens, SearchAbove: s.ToolSearch, OffloadOver: s.OffloadOver,
	}
}

// contextParts returns the context settings as parts of the command's own agent. how is the strategy for
// the oldest messages.
func contextParts(s *conf.Settings, how string, tools bool) []braid.Part {
	c := contextOf(s)
	c.How = how
	return c.Parts(tools)
}

// readingPace lets a scripted model stream about as fast as a real one.
const readingPace = "?first_byte=400ms&rate=40"

// openModel opens the model of a reference. On a terminal a scripted model streams at reading pace, unless
// the reference sets another one.
func (p *process) openModel(s *conf.Settings, ref string) (braid.Model, error) {
	ref = models.Detect(p.Getenv, ref).Model
	if provider, _, _ := strings.Cut(ref, ":"); provider == "demo" && term.IsTerminal(p.Stdout) && !strings.Contains(ref, "?") {
		ref += readingPace
	}
	return p.openAs(s, ref)
}

// toolsFor lists the tools of the option. "auto" is all tools for a demo model, because its scripts use
// them, and none for a real one.
func toolsFor(option string, info model.Info) []string {
	switch {
	case option == "none", option == "auto" && !info.Simulated:
		return nil
	case option == "auto":
		return conf.ToolNames
	}
	return strings.Split(option, ",")
}

// openTools makes the tools. The files tool works in the folder chosen, or else in own. Without either it
// gets a temporary folder, which close removes.
func (p *process) openTools(names []string, chosen, own string) (tools []braid.Tool, closeAll func(), err error) {
	closeAll = func() {}
	for _, name := range names {
		switch name {
		case "calculator":
			tools = append(tools, demotool.Calculator())
		case "clock":
			tools = append(tools, demotool.Clock())
		case "files":
			dir := cmp.Or(chosen, own)
			if dir == "" {
				if dir, err = os.MkdirTemp("", "braid-scratch-"); err != nil {
					return nil, nil, scratchError(err)
				}
				closeAll = p.onExit(func() { _ = os.RemoveAll(dir) })
			} else if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, nil, scratchError(err)
			}
			files, err := demotool.Files(dir)
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			tools = append(tools, files...)
		}
	}
	return tools, closeAll, nil
}

func scratchError(err error) error {
	e := &event.Error{
		Kind: event.ErrPermission, Message: "the scratch folder cannot be made", Err: err,
		Hint: "name another with --scratch, or leave the files tool out with --tools",
	}
	if os.IsExist(err) {
		e.Kind, e.Message = event.ErrInvalid, "the scratch folder is no folder"
	}
	return e
}

// saySimulated reports on standard error, before the first answer, that the model follows a script.
func (p *process) saySimulated(s *conf.Settings, c *agentSetup) error {
	info := c.simulated()
	if !info.Simulated {
		return nil
	}
	lines := []string{term.CleanLine(info.Name) + " is a simulated model: its words follow a script, its tools are real, nothing is charged."}
	if s.Model == "" {
		found := models.Detect(p.Getenv, "")
		for _, note := range found.Notes {
			lines = append(lines, term.CleanLine(note))
		}
		if len(found.Keys) == 0 {
			lines = append(lines, "No provider's key was found, so it stands in for a real model.")
		}
		lines = append(lines, "braid models lists what can be used.")
	}
	screen := p.NewScreen(p.Stderr, s.Color)
	_, err := p.Stderr.Write(append(screen.Paint(nil, term.Yellow, strings.Join(lines, "\n  ")), '\n'))
	return term.OutputError(err)
}

// modelWords describes a model for users.
func modelWords(info model.Info) string {
	name := term.CleanLine(info.Name)
	if info.Replay {
		name += ", a replay: its words were recorded"
	}
	if info.Simulated {
		return name + ", simulated: its words follow a script"
	}
	if info.ContextWindow > 0 {
		return fmt.Sprintf("%s, context of %d tokens", name, info.ContextWindow)
	}
	return name
}
