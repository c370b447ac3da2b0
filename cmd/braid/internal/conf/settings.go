package conf

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/sandbox"
)

// Settings is the merged configuration: the values of [Options].
type Settings struct {
	ModelSettings
	CallSettings
	AgentSettings
	Bounds
	StoreSettings
	ServerSettings
	TenantQuota
	Display
}

// ModelSettings choose the models and their prices.
type ModelSettings struct {
	Model string
	// Fallback lists models to ask after a failed call of the one before.
	Fallback   []string
	FallbackOn []event.ErrorKind
	// Attempts is the number of attempts of one model call; 0 is the library's default.
	Attempts int
	Prices   string
	// Catalogue is the file that braid models --refresh writes. It is not an option.
	Catalogue string
	Vendors   string
	// Limits bound the calls with one provider's key.
	Limits models.Limits
}

// CallSettings go to the model with each call. Zero values leave the choice to the provider.
type CallSettings struct {
	MaxTokens      int
	Temperature    *float64
	TopP           *float64
	Seed           *int64
	Effort         model.Effort
	ThinkingBudget int
	// ShowThinking requests readable reasoning; nil leaves it to the command.
	ShowThinking *bool
	Verbosity    string
	ServiceTier  string
	ServerTools  []ServerTool
	Extra        map[string]json.RawMessage
	Headers      map[string]string
}

// AgentSettings describe the agent: its instructions, tools and context.
type AgentSettings struct {
	Instructions string
	Tools        string
	Scratch      string
	MCP          string
	// OpenAPI lists documents whose operations are tools. OpenAPIAuth has the variables with credentials by security scheme,
	// OpenAPIServer the address that replaces the servers of the document.
	OpenAPI       []string
	OpenAPIAuth   map[string]string
	OpenAPIServer string
	Skills        []string
	// Workspace is the folder of the agent's files; empty is none.
	Workspace string
	// Workspaces gives each conversation of a server files.
	Workspaces bool
	// WorkspaceBucket is the address of the bucket with these files; empty keeps them in the journal.
	WorkspaceBucket string
	// Shell gives the agent the tool shell. The other three bound its commands.
	Shell       bool
	ShellLevel  sandbox.Level
	ShellTime   time.Duration
	ShellMemory int64
	Permit      braid.Permissions
	Sequential  bool

	Context       string
	Window        int
	ContextTokens int
	OffloadOver   int
	ToolSearch    int
	// Schema is the JSON schema of answers. It comes from a flag and is not an option; nil is none.
	Schema json.RawMessage
}

// Bounds limit a run; 0 is no limit, or the library's.
type Bounds struct {
	Timeout        time.Duration
	MaxCycles      int
	MaxToolCalls   int
	MaxTotalTokens int64
	MaxInput       int64
	MaxOutput      int64
	// MaxCost is in 1e-9 US dollars.
	MaxCost int64
	// Budget limits all runs of a conversation together.
	Budget braid.Budget
}

// StoreSettings say where conversations are kept.
type StoreSettings struct {
	Data      string
	Ephemeral bool
}

// ServerSettings are those of braid serve.
type ServerSettings struct {
	// Memory is the memory in bytes that a server plans with.
	Memory        int64
	Running       int
	TenantRunning int
	Queued        int
	TenantQueued  int
	LostDrivers   int
	FailedRuns    string
	RefusedEvery  time.Duration
	MetricTenants int
	Lease         time.Duration

	WrongCredentials int
	TrustedProxies   []netip.Prefix
}

// TenantQuota holds the default limits of a tenant; 0 is no limit.
type TenantQuota struct {
	TenantRequests      int64
	TenantConversations int64
	TenantAgents        int64
	TenantStorage       int64
	TenantTokens        int64
	// TenantCost is in 1e-9 US dollars.
	TenantCost int64
}

// Display says how a run is shown.
type Display struct {
	Color    string
	Thinking bool
	Trace    bool
}
