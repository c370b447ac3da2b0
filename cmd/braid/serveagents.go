package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	// ref is the reference of the server's own model, first the model itself.
	ref   string
	first braid.Model
	info  braid.ModelInfo
	// others are asked where the server's own model fails.
	others []braid.Model
	// known are the models that a run may name, as far as their names are known.
	known []service.Model
	// shared says that other servers work on the same database.
	shared  bool
	scratch scratch

	named namedModels
	own   ownModels
}

// openAgents opens the model and the tools, so that what is wrong with them is told
// when the server starts.
func (p *process) openAgents(ctx context.Context, cfg *config, log *slog.Logger) (*agents, error) {
	a := &agents{p: p, cfg: cfg, ref: p.detected(cfg.Model), sealed: func() {}}
	model, err := p.openAs(&cfg.settings, a.ref)
	if err != nil {
		return nil, err
	}
	model = plainModel{model}
	a.first, a.info = model, model.Info()
	if a.others, err = p.fallbacks(&cfg.settings, model, nil); err != nil {
		return nil, err
	}
	for i, m := range a.others {
		a.others[i] = plainModel{m}
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
		a.scratch = scratch{cmp.Or(cfg.Scratch, filepath.Join(cfg.Data, "scratch"))}
		if err := os.MkdirAll(a.scratch.dir, 0o700); err != nil {
			return nil, scratchError(err)
		}
		a.tools = append(a.tools, demotool.FilesOf(a.scratch.open)...)
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
	}, func(server, tool, why string) {
		log.Warn("a tool of an MCP server is left out", "server", server, "tool", tool, "why", why)
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

// mostListed is how many files an agent is told of.
const mostListed = 100

// workspace tells a tenant's agent of the files that its tools reach.
func (a *agents) workspace(_ context.Context, x *service.ExecutionContext) (*service.Workspace, error) {
	files := demotool.FilesOf(a.scratch.open)
	reaches := x.Agent.Tools == nil || len(chosen(files, x.Agent.Tools)) > 0
	dir, ok := a.scratch.of(x.Key())
	if !ok || x.Agent.ID == "" || !reaches {
		return nil, nil //nolint:nilnil // there is none
	}
	var names []string
	for _, t := range files {
		names = append(names, t.Spec().Name)
	}
	w := &service.Workspace{Path: "the scratch folder", Instructions: "The tools " + strings.Join(names, ", ") + " reach them, by their names."}
	a.scratch.adopt(x.Key(), dir)
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return nil, scratchError(err)
	}
	for _, entry := range list {
		info, err := entry.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case len(w.Files) < mostListed:
			w.Files = append(w.Files, service.WorkspaceFile{Name: entry.Name(), Bytes: info.Size()})
		default:
			w.More++
		}
	}
	return w, nil
}

// agent makes the agent of a run.
func (a *agents) agent(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
	a.mcp.refresh(ctx)
	s := &a.cfg.settings
	r.Limits = s.within(r.Limits)
	parts := a.tells.parts()
	if r.OutputSchema != nil {
		parts = append(parts, braid.AnswerSchema(r.OutputSchema))
	}
	parts = append(parts, permitParts(s, a.lifeOf(&r))...)
	return a.make(ctx, cmp.Or(r.ID, agentName), a.lifeOf(&r), &r.AgentOptions, r.Skills, parts)
}

// lifeOf is the life that the grants of a run's tenant are bound to. The default tenant of a data folder
// is the command's own, whose grants know no life.
func (a *agents) lifeOf(r *service.AgentRequest) string {
	if r.Tenant == tenant && !a.shared {
		return ""
	}
	return r.Life
}

// make makes an agent, and those that it has as tools. What is allowed for always is bound to life.
func (a *agents) make(ctx context.Context, name, life string, o *service.AgentOptions, prefer []string, parts []braid.Part) (*braid.Agent, error) {
	s := &a.cfg.settings
	model, err := a.open(ctx, o.Model, o.Own)
	if err != nil {
		return nil, err
	}
	asked, err := a.p.modelOptions(s)
	if err != nil {
		return nil, err
	}
	if o.Own != nil || o.Model != "" {
		asked = elsewhere(asked)
	}
	asked = o.ModelOptions(asked)
	parts = append(parts,
		braid.Limit(o.Limits), braid.Options(asked),
		braid.Retries(braid.Retry{Attempts: s.Attempts}), braid.Instructions(o.SystemPrompt),
	)
	if s.Sequential {
		parts = append(parts, braid.Sequential())
	}
	if o.Own == nil { // the operator's other models do not stand in for a tenant's own
		parts = append(parts, fallbackParts(s, otherThan(model, a.others))...)
	}
	for i := range o.Permissions {
		p := &o.Permissions[i]
		parts = append(parts, braid.Permit(braid.Permissions{Allow: p.Allow, Ask: p.Ask, Deny: p.Deny, Grants: keptGrants(s, life)}))
	}
	given, works, err := a.given(o, prefer)
	if err != nil {
		return nil, err
	}
	parts = append(parts, given...)
	for _, tool := range slices.Sorted(maps.Keys(o.SubAgents)) {
		sub := o.SubAgents[tool]
		below, err := a.make(ctx, tool, life, sub, nil, nil)
		if err != nil {
			return nil, err
		}
		parts = append(parts, braid.AsTool(below, cmp.Or(sub.Description, "Has the agent "+tool+" do a part of the work.")))
	}
	agent := braid.New(name, model, append(parts, contextParts(s, cmp.Or(o.Context, s.Context), works || len(o.SubAgents) > 0)...)...)
	return agent, agent.Err()
}

// given are the tools that the server gives an agent: those that fit one of its patterns, or all.
// works says that there are any.
func (a *agents) given(o *service.AgentOptions, prefer []string) (parts []braid.Part, works bool, err error) {
	all := o.Tools == nil
	skills := a.skills
	if !all && len(chosen(skills.Tools(), o.Tools)) == 0 {
		skills = &skill.Set{}
	}
	if len(prefer) > 0 && len(skills.Skills()) == 0 {
		message := "this server has no skills"
		if len(a.skills.Skills()) > 0 {
			message = "this agent has no skills"
		}
		return nil, false, &event.Error{Kind: event.ErrUnsupported, Message: message, Hint: "leave preferred_skills out"}
	}
	for _, name := range o.Skills { // those that the agent prefers may have gone since
		if slices.ContainsFunc(skills.Skills(), func(k skill.Skill) bool { return k.Name == name }) {
			prefer = append(slices.Clip(prefer), name)
		}
	}
	if len(prefer) > 0 {
		if skills, err = skills.Prefer(prefer...); err != nil {
			return nil, false, unknownSkill(err)
		}
	}
	tools := a.tools
	if all {
		parts = append(parts, a.mcp.parts()...)
		works = a.cfg.MCP != ""
	} else {
		far := chosen(a.mcp.tools(), o.Tools)
		tools = append(chosen(a.tools, o.Tools), far...)
		parts = append(parts, a.mcp.announced(far, lacks(o.Tools, append(skills.Tools(), tools...))))
	}
	return append(parts, skills.Part(), braid.Tools(tools...)), works || len(tools) > 0 || len(skills.Skills()) > 0, nil
}

// unknownSkill is the error for a preferred skill that the agent does not have. The route exists, so it is
// not [event.ErrNotFound].
func unknownSkill(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Kind != event.ErrNotFound {
		return err
	}
	return &event.Error{Kind: event.ErrUnsupported, Message: e.Message, Hint: e.Hint}
}

// lacks reports whether one of the patterns fits none of the tools.
func lacks(patterns []string, tools []braid.Tool) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return len(chosen(tools, []string{pattern})) == 0 })
}

// chosen are the tools whose names fit one of the patterns.
func chosen(tools []braid.Tool, patterns []string) []braid.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t braid.Tool) bool {
		name := t.Spec().Name
		return !slices.ContainsFunc(patterns, func(pattern string) bool { fits, _ := path.Match(pattern, name); return fits })
	})
}

// open opens the model of an agent: the server's own for "", one that a run names, or one of the
// directory's, which own is.
func (a *agents) open(_ context.Context, ref string, own *service.OwnModel) (braid.Model, error) {
	switch {
	case own != nil && a.p.openRef == nil:
		return a.openOwn(own)
	case ref == "" || ref == a.ref:
		return a.first, nil
	}
	return a.openNamed(ref)
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
