package agents

import (
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool/shelltool"
)

// offered returns the server's tools for an agent of a run: those for files only if the run has a workspace, and the shell
// only if it is allowed.
func (a *Factory) offered(r *run, o *service.AgentOptions) []braid.Tool {
	tools := a.tools
	if r.request.Parts.NoWorkspace {
		files := namesOf(a.workspaceTools())
		tools = slices.DeleteFunc(slices.Clone(tools), func(t braid.Tool) bool { return slices.Contains(files, t.Spec().Name) })
	}
	if a.hasShell(r, o) {
		tools = slices.Concat(tools, a.shellTools())
	}
	return tools
}

// shellTools returns the tool that runs commands on the workspace of the calling run's conversation; none if the server has
// none.
func (a *Factory) shellTools() []braid.Tool {
	if a.options.Shell == nil || !a.options.Workspaces {
		return nil
	}
	return shelltool.ForEach(service.WorkspaceOf, *a.options.Shell).Tools()
}

// hasShell reports whether an agent can run commands: the policy of its tenant allows them, and the agent names the tool. The
// server's own agent, which has all tools, needs no list.
func (a *Factory) hasShell(r *run, o *service.AgentOptions) bool {
	parts := &r.request.Parts
	if a.options.Shell == nil || !a.options.Workspaces || !parts.Shell || parts.NoWorkspace {
		return false
	}
	own := o == &r.request.AgentOptions && o.ID == "" && o.Tools == nil
	return own || slices.Contains(o.Tools, shelltool.Name)
}

// asksForShell reports whether a user is asked before each command, because no permissions allow the tool by its name.
func (a *Factory) asksForShell(r *run, o *service.AgentOptions) bool {
	if !a.hasShell(r, o) || slices.Contains(a.options.Permissions.Allow, shelltool.Name) {
		return false
	}
	for i := range o.Permissions {
		if slices.Contains(o.Permissions[i].Allow, shelltool.Name) {
			return false
		}
	}
	return true
}
