package agents

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/mcptool"
	"github.com/braidrun/braid/tool/shelltool"
)

// DefaultName is the name of the server's own agent, which serves tenants without a default agent.
const DefaultName = "assistant"

// DefaultWindow is the default size of a sliding window, in messages.
const DefaultWindow = 40

// Options configure the agents of a [Factory]. Model is required. The factory closes none of them.
type Options struct {
	// Name is the name of the server's own agent. Empty means [DefaultName].
	Name string
	// Model answers if neither the run nor its tenant names a model.
	Model braid.Model
	// ModelRef is the name by which a run may choose Model. Empty means that it has none.
	ModelRef string
	// Fallback are tried, in this order, if Model or another model of the server fails with an error of the kinds
	// in FallbackOn: see [braid.Fallback]. Their names must differ.
	Fallback []braid.Model
	// FallbackOn are the kinds of errors on which Fallback are tried.
	FallbackOn []event.ErrorKind
	// Models opens the models that runs name and those of the directory. nil means that Model is
	// the only one.
	Models Models
	// ModelOptions are sent with each call. Options for one vendor or one bill are sent to Model
	// only.
	ModelOptions model.Options
	// Retry says how often a model call is repeated: see [braid.Retries].
	Retry braid.Retry

	// Tools are the tools of every agent, as far as its patterns allow.
	Tools []braid.Tool
	// Files give each conversation a folder, and agents the tools to access it. The zero value
	// gives none.
	Files Files
	// Workspaces gives agents the tools of package filetool, for a service that has workspaces.
	Workspaces bool
	// Shell gives agents the tool of package shelltool, for a service that has workspaces, where the policies of their tenants
	// allow it. A user is asked before each command unless Permissions, or those of a tenant, allow the tool by its name. nil
	// means that no agent gets it.
	Shell *shelltool.Options
	// Skills are the skills that agents may load. nil means none.
	Skills *skill.Set
	// Servers provide the tools of MCP servers. nil means none.
	Servers *mcptool.Servers

	// TenantServers connects the MCP servers of tenants. nil means that they have none. The caller
	// closes it after the last run.
	TenantServers *toolservers.Pool

	// Permissions apply to every agent, beside those of its tenant. Their Grants are not used.
	Permissions braid.Permissions
	// Grants returns the store of the permissions that a tenant's users give for always. life
	// distinguishes tenants that reuse one id. nil means that such a permission ends with the run.
	Grants func(tenant, life string) grant.Store
	// Limits are limits of every run.
	Limits braid.Limits
	// Sequential makes the tool calls of an answer run one after the other.
	Sequential bool
	// Context says how agents stay within their model's context. The zero Context has a Window of
	// [DefaultWindow].
	Context Context
	// Parts are added to the agents of runs, for example telemetry. Sub-agents do not get them.
	Parts []braid.Part
}

// Models opens models for tenants: [models.Opener] implements it. All methods are safe for
// concurrent use.
type Models interface {
	// Named returns the full name of a model that a run names. It refuses files and addresses.
	Named(ref string) (string, error)
	// OpenNamed opens a model by its full name.
	OpenNamed(name string) (braid.Model, error)
	// OpenOwn opens a model of the directory with the directory's key for it.
	OpenOwn(own models.Own) (braid.Model, error)
	// Survey lists the providers with their usual models, and reports which can be used.
	Survey(local []models.Server) []models.Standing
}

// Context says how an agent stays within its model's context.
type Context struct {
	// How says how long conversations are compacted: summary, window, none or provider, as
	// [github.com/braidrun/braid/service/directory.AgentSpec] names them. Empty means summary. An
	// agent of the directory may choose another.
	How string
	// Window is how many messages a window shows: see [braid.SlidingWindow].
	Window int
	// Tokens is the size of the context. 0 means that of the model.
	Tokens int
	// SearchAbove is the number of tools above which the model searches for tools instead of seeing
	// all. 0 means never, but [TenantSearchAbove] for an agent with tools of its tenant's servers.
	SearchAbove int
	// OffloadOver is the size of a tool result, in tokens, above which the model sees only its
	// beginning and end. 0 means never.
	OffloadOver int
}

// TenantSearchAbove is the default of [Context].SearchAbove for agents with tools of their tenant's MCP servers.
const TenantSearchAbove = 50

// Parts returns the parts of an agent. tools reports whether it has tools: an agent without tools
// has nothing to search and nothing to off-load.
func (c *Context) Parts(tools bool) []braid.Part {
	m := braid.Management{Context: c.Tokens}
	switch c.How {
	case "window":
		m.By = braid.SlidingWindow(c.Window)
	case "none":
		m.By = braid.KeepAll{}
	case "provider":
		m.By = braid.ProviderManaged{}
	}
	parts := []braid.Part{braid.Manage(m)}
	if tools && c.SearchAbove > 0 {
		parts = append(parts, braid.SearchTools(braid.ToolSearch{Above: c.SearchAbove}))
	}
	if tools && c.OffloadOver > 0 {
		parts = append(parts, braid.Offload(braid.Offloading{Over: c.OffloadOver}))
	}
	return parts
}
