package agents

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/tool/mcptool"
)

// DefaultName is the name of the server's own agent, which answers for tenants that have chosen none.
const DefaultName = "assistant"

// DefaultWindow is how many messages an agent sees that is to see a window of a long conversation.
const DefaultWindow = 40

// Options are what agents are made with. Model must be set. The factory closes nothing of it.
type Options struct {
	// Name is the name of the server's own agent; empty means [DefaultName].
	Name string
	// Model answers where neither the run nor its tenant names one. ModelRef is the name under which a run may ask
	// for it; empty means that it has none.
	Model    braid.Model
	ModelRef string
	// Fallback are asked, in this order, where Model or another model of the server fails with an error of the kinds in
	// FallbackOn; see [braid.Fallback]. No two have the same name.
	Fallback   []braid.Model
	FallbackOn []event.ErrorKind
	// Models opens the models that runs name, and those of the directory; nil means that there is only Model.
	Models Models
	// ModelOptions are sent with each call. What holds for one vendor or one bill is sent to Model alone.
	ModelOptions braid.ModelOptions
	// Retry says how often a model call is repeated; see [braid.Retries].
	Retry braid.Retry

	// Tools are the tools of every agent, as far as its patterns allow.
	Tools []braid.Tool
	// Files give each conversation a folder, and the agents the tools that reach it; the zero value gives none.
	Files Files
	// Skills are those that agents may load; nil means none.
	Skills *skill.Set
	// Servers offer the tools of MCP servers; nil means none.
	Servers *mcptool.Servers

	// Permissions hold for every agent, beside those of its tenant. Their Grants are not used.
	Permissions braid.Permissions
	// Grants returns what keeps the permissions that the users of a tenant give for always. life distinguishes tenants
	// that have the same id one after the other. nil means that such a permission ends with the run.
	Grants func(tenant, life string) grant.Store
	// Limits bound every run, whatever it asks for.
	Limits braid.Limits
	// Sequential has the tools of an answer called one after the other.
	Sequential bool
	// Context says how agents keep within their model's context. The zero Context has a Window of [DefaultWindow].
	Context Context
	// Parts are added to the agents of runs, such as telemetry. Agents below them do not get them.
	Parts []braid.Part
}

// Models opens models for tenants: a [models.Opener] does. All methods are safe for concurrent use.
type Models interface {
	// Named returns the full name of a model that a run names. It refuses files and addresses.
	Named(ref string) (string, error)
	// OpenNamed opens a model by its full name.
	OpenNamed(name string) (braid.Model, error)
	// OpenOwn opens a model of the directory with the key that the directory has for it.
	OpenOwn(own models.Own) (braid.Model, error)
	// Survey lists the providers with their usual models, and says which can be used.
	Survey(local []models.Server) []models.Standing
}

// Context says how an agent keeps within its model's context.
type Context struct {
	// How is what becomes of the oldest messages of a long conversation: summary, window, none or provider, as
	// [github.com/braidrun/braid/service/directory.AgentSpec] names them. Empty means summary. The choice of an agent of
	// the directory goes before it.
	How string
	// Window is how many messages a window shows; see [braid.SlidingWindow].
	Window int
	// Tokens is the size of the context; 0 means that of the model.
	Tokens int
	// SearchAbove is the number of tools above which the model looks for tools instead of seeing all; 0 means never.
	SearchAbove int
	// OffloadOver is the size of a tool's result, in tokens, above which the model sees only its ends; 0 means never.
	OffloadOver int
}

// Parts are what an agent is made with. tools reports whether it has tools: one without has nothing to search and
// nothing to off-load.
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
