package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/demotool"
	"github.com/braidrun/braid/tool/mcptool"
)

// agents makes the agents of a server's runs: all alike, but for what a run asks for.
type agents struct {
	p      *process
	cfg    *config
	tools  []braid.Tool
	sealed func()
	mcp    *mcpServers
	skills *skill.Set
	tells  *observer
	ref    string
	info   braid.ModelInfo
	// others are asked where the server's own model fails.
	others []braid.Model
	// known are the models that a run may name, as far as their names are known.
	known []service.Model
	// scratch holds a folder for each conversation that has files.
	scratch string

	mu     sync.Mutex
	models map[string]braid.Model
}

// openAgents opens the model and the tools, so that what is wrong with them is told
// when the server starts.
func (p *process) openAgents(ctx context.Context, cfg *config, log *slog.Logger) (*agents, error) {
	a := &agents{p: p, cfg: cfg, ref: p.detected(cfg.Model), models: map[string]braid.Model{}, sealed: func() {}}
	model, err := a.model(a.ref)
	if err != nil {
		return nil, err
	}
	a.info = model.Info()
	if a.others, err = p.fallbacks(&cfg.settings, model, nil); err != nil {
		return nil, err
	}
	if a.known, err = p.nameable(&cfg.settings, a.ref, a.info.Simulated); err != nil {
		return nil, err
	}
	names := toolsFor(cfg.Tools, a.info)
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "files" })
	if a.tools, a.sealed, err = p.openTools(others, "", ""); err != nil {
		return nil, err
	}
	if len(others) < len(names) {
		a.scratch = cmp.Or(cfg.Scratch, filepath.Join(cfg.Data, "scratch"))
		if err := os.MkdirAll(a.scratch, 0o700); err != nil {
			return nil, scratchError(err)
		}
		a.tools = append(a.tools, demotool.FilesOf(a.folder)...)
	}
	if a.skills, err = loadSkills(&cfg.settings, func(problem skill.Problem) {
		log.Warn("a skill is left out", "folder", problem.Folder, "error", problem.Err)
	}); err != nil {
		a.sealed()
		return nil, err
	}
	own := append(slices.Clip(a.tools), a.skills.Tools()...)
	if a.mcp, err = p.openMCP(ctx, &cfg.settings, own, mcptool.Prefixed, func(server string, err error) {
		log.Warn("an MCP server cannot be reached", "server", server, "error", err)
	}); err != nil {
		a.sealed()
		return nil, err
	}
	if a.tells, err = openTelemetry(ctx, func(err error) {
		log.Warn("telemetry could not be sent; this is told once", "error", err)
	}); err != nil {
		_ = a.mcp.close()
		a.sealed()
		return nil, err
	}
	agent, err := a.agent(ctx, service.AgentRequest{})
	if err != nil {
		_ = a.close()
		return nil, err
	}
	for _, pattern := range idlePatterns(&cfg.settings, agent) {
		log.Warn("what is allowed, asked for or denied fits none of the tools", "pattern", pattern)
	}
	return a, nil
}

func (a *agents) close() error {
	err := a.mcp.close()
	a.sealed()
	a.tells.close()
	return err
}

// folder opens the conversation's own: what one writes is not there for another.
func (a *agents) folder(ctx context.Context) (*os.Root, error) {
	call := braid.CallOf(ctx)
	if call == nil || !isName(call.Conversation) {
		return nil, fs.ErrNotExist
	}
	dir := filepath.Join(a.scratch, call.Conversation)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// forget removes the files of a conversation.
func (a *agents) forget(_ context.Context, _, conversation string) error {
	if a.scratch == "" || !isName(conversation) {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(a.scratch, conversation)); err != nil {
		return scratchError(err)
	}
	return nil
}

// isName reports whether a conversation's id can name a folder of its own.
func isName(id string) bool { return filepath.IsLocal(id) && filepath.Base(id) == id && id != "." }

// model opens a model once: it holds connections.
func (a *agents) model(ref string) (braid.Model, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.models[ref]; m != nil {
		return m, nil
	}
	m, err := a.p.openAs(&a.cfg.settings, ref)
	if err != nil {
		return nil, err
	}
	const most = 64 // what a client names must not fill the memory
	if len(a.models) < most {
		a.models[ref] = m
	}
	return m, nil
}

// agent makes the agent of a run.
func (a *agents) agent(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
	ref := a.ref
	if r.Model != "" && r.Model != ref {
		if !modelAllowed(r.Model) {
			return nil, &event.Error{
				Kind: event.ErrModelNotFound, Message: "a run cannot ask for that model",
				Hint: "name one as provider:model; GET /v1/models lists some",
			}
		}
		ref = r.Model
	}
	model, err := a.model(ref)
	if errors.Is(err, event.ErrModelAuth) {
		return nil, &event.Error{
			Kind: event.ErrModelNotFound, Message: "this server has no key for that model", Hint: "name another, or let the operator give it one",
			Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	skills := a.skills
	if len(r.Skills) > 0 {
		if len(skills.Skills()) == 0 {
			return nil, &event.Error{
				Kind: event.ErrUnsupported, Message: "this server has no skills", Hint: "leave preferred_skills out",
			}
		}
		if skills, err = skills.Prefer(r.Skills...); err != nil {
			return nil, err
		}
	}
	s := &a.cfg.settings
	parts := []braid.Part{
		braid.Limit(s.within(r.Limits)),
		braid.Options(braid.ModelOptions{MaxTokens: s.MaxTokens, Temperature: s.Temperature, Thinking: s.ThinkingBudget}),
		braid.Instructions(s.Instructions),
	}
	if s.Sequential {
		parts = append(parts, braid.Sequential())
	}
	parts = append(parts, fallbackParts(s, otherThan(model, a.others))...)
	if r.OutputSchema != nil {
		parts = append(parts, braid.AnswerSchema(r.OutputSchema))
	}
	a.mcp.refresh(ctx)
	parts = append(append(parts, a.mcp.parts()...), a.tells.parts()...)
	parts = append(append(parts, skills.Part(), braid.Tools(a.tools...)), permitParts(s)...)
	worksWithTools := len(a.tools) > 0 || len(skills.Skills()) > 0 || s.MCP != ""
	agent := braid.New(agentName, model, append(parts, contextParts(s, worksWithTools)...)...)
	return agent, agent.Err()
}

// least is the smaller of two bounds, of which 0 is none.
func least[N int | int64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// list says what a run may name as its model.
func (a *agents) list(context.Context) []service.Model { return a.known }

func (a *agents) servers() []event.ToolServer { return a.mcp.status() }
