package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/filetool"
	"github.com/braidrun/braid/tool/mcptool"
	"github.com/braidrun/braid/tool/openapitool"
)

// agentFactory makes the agents of a server's runs, and holds their shared resources.
type agentFactory struct {
	*agents.Factory

	cfg    *conf.Config
	sealed func()
	mcp    *mcptool.Servers
	apis   []*openapitool.API
	// tenants connects the MCP servers of tenants.
	tenants  *toolservers.Pool
	observer *observer
	info     model.Info
	// others are the fallback models of the server's own model.
	others []braid.Model
	// shared is set if other servers use the same database.
	shared bool
}

// openAgents opens the model and the tools, and adds more. Their errors stop the server at its start. The factory closes
// tenants, which may be nil.
func (p *process) openAgents(
	ctx context.Context, cfg *conf.Config, log *slog.Logger, tenants *toolservers.Pool, more ...braid.Tool,
) (_ *agentFactory, err error) {
	a := &agentFactory{cfg: cfg, sealed: func() {}, tenants: tenants}
	defer func() {
		if err != nil {
			_ = a.close() // the first error is the one that matters
		}
	}()
	s := &cfg.Settings
	o := agents.Options{
		Name: printer.AgentName, ModelRef: p.detected(cfg.Model), FallbackOn: s.FallbackOn, Retry: braid.Retry{Attempts: s.Attempts},
		Permissions: s.Permit, Grants: a.grants, Limits: s.RunLimits(), Sequential: s.Sequential, Context: contextOf(s),
		Workspaces: s.Workspaces,
	}
	if o.Shell, err = serverShell(ctx, s); err != nil {
		return nil, err
	}
	if err := p.openServerModels(s, &o); err != nil {
		return nil, err
	}
	a.info, a.others = o.Model.Info(), o.Fallback
	names := toolsFor(cfg.Tools, a.info)
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "files" })
	if o.Tools, a.sealed, err = p.openTools(others, "", ""); err != nil {
		return nil, err
	}
	o.Tools = append(o.Tools, more...)
	if len(others) < len(names) {
		o.Files = agents.FilesIn(cmp.Or(cfg.Scratch, filepath.Join(cfg.Data, "scratch")))
		if err := o.Files.Make(); err != nil {
			return nil, scratchError(err)
		}
	}
	if o.Skills, err = loadSkills(s, func(problem skill.Problem) {
		log.Warn("a skill is left out", "folder", problem.Folder, "error", problem.Err)
	}); err != nil {
		return nil, err
	}
	own := slices.Concat(o.Tools, o.Files.Tools(), o.Skills.Tools())
	if s.Workspaces {
		own = append(own, filetool.ForEach(service.WorkspaceOf).Tools()...)
	}
	if a.mcp, err = p.openMCP(ctx, s, own, mcptool.Prefixed, nil, func(server string, err error) {
		log.Warn("an MCP server cannot be reached", "server", server, "error", err)
	}, func(server, tool, why string) {
		log.Warn("a tool of an MCP server is left out", "server", server, "tool", tool, "why", why)
	}); err != nil {
		return nil, err
	}
	if a.apis, err = p.openAPIs(ctx, s, own, func(api, tool, why string) {
		log.Warn("an operation of an API is left out", "api", api, "tool", tool, "why", why)
	}); err != nil {
		return nil, err
	}
	o.Tools = append(o.Tools, apiTools(a.apis)...)
	if a.observer, err = openTelemetry(ctx, func(err error) {
		log.Warn("telemetry could not be sent; this is told once", "error", err)
	}); err != nil {
		return nil, err
	}
	o.Servers, o.TenantServers, o.Parts = a.mcp, a.tenants, a.observer.parts()
	if a.Factory, err = agents.New(ctx, o); err != nil {
		return nil, err
	}
	for _, pattern := range a.Idle() {
		log.Warn("what is allowed, asked for or denied fits none of the tools", "pattern", pattern)
	}
	return a, nil
}

// openServerModels opens the server's own model and its fallbacks.
func (p *process) openServerModels(s *conf.Settings, o *agents.Options) (err error) {
	if o.Model, err = p.openAs(s, o.ModelRef); err != nil {
		return err
	}
	if o.Fallback, err = p.fallbacks(s, o.Model, nil); err != nil {
		return err
	}
	if o.Models, err = p.tenantModels(s); err != nil {
		return err
	}
	o.ModelOptions, err = p.ModelOptions(s)
	return err
}

// tenantModels returns the opener of models that runs and tenants name.
func (p *process) tenantModels(s *conf.Settings) (agents.Models, error) {
	if p.openRef != nil {
		return testModels{p.openRef}, nil
	}
	return p.opener(s)
}

// testModels are the models of a test.
type testModels struct {
	open func(ref string) (braid.Model, error)
}

func (testModels) Named(ref string) (string, error)                { return models.Named(ref) }
func (s testModels) OpenNamed(name string) (braid.Model, error)    { return s.open(name) }
func (s testModels) OpenOwn(own models.Own) (braid.Model, error)   { return s.open(own.Ref) }
func (testModels) Survey([]models.Server) (none []models.Standing) { return none }

// grants returns the permanent permissions of a tenant's users. The default tenant of a data folder shares
// them with the command, so they are not bound to one life of the tenant.
func (a *agentFactory) grants(tenantID, life string) grant.Store {
	if tenantID == conf.Tenant && !a.shared {
		life = ""
	}
	return keptGrants(&a.cfg.Settings, life)
}

// forgetTenant removes the permanent permissions of a tenant that is being erased.
func (a *agentFactory) forgetTenant(_ context.Context, t directory.Tenant) error {
	return grantsIn(a.cfg.Data).forgetTenants(func(id, _ string) bool { return id == t.ID })
}

// forgetGone removes the permanent permissions of erased tenants.
func (a *agentFactory) forgetGone(ctx context.Context, people *directory.Directory) error {
	var failed error
	lives := map[string]string{}
	err := grantsIn(a.cfg.Data).forgetTenants(func(id, life string) bool {
		if life == "" || failed != nil { // the command's own
			return false
		}
		now, known := lives[id]
		if !known {
			t, err := people.GetTenant(ctx, id)
			if err != nil && !errors.Is(err, event.ErrNotFound) {
				failed = err
				return false
			}
			now = t.Life
			lives[id] = now
		}
		return now != life
	})
	return errors.Join(failed, err)
}

func (a *agentFactory) close() error {
	err := closeMCP(a.mcp)
	closeAPIs(a.apis)
	if a.tenants != nil {
		err = errors.Join(err, a.tenants.Close())
	}
	a.sealed()
	if a.observer != nil {
		a.observer.close()
	}
	return err
}
