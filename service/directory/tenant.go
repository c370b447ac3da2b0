package directory

import (
	"time"

	"github.com/braidrun/braid/pricing"
)

// DefaultTenant is the tenant of a server without settings. Its models use the server's environment
// unless they have a credential.
const DefaultTenant = "default"

// Tenant is a customer. It is the isolation boundary.
type Tenant struct {
	ID string `json:"id"`
	// Life distinguishes tenants that reuse one id. It is not shown.
	Life   string `json:"-"`
	Name   string `json:"name,omitempty"`
	Status Status `json:"status"`
	// SystemPrompt precedes the agent's own instructions in each of its runs.
	SystemPrompt string `json:"system_prompt,omitempty"`
	// Agent is the id of the default agent. Empty means the server's.
	Agent string `json:"default_agent,omitempty"`
	// Model is the id or an alias of the model for runs and agents that name none. Empty means the
	// server's.
	Model string `json:"default_model,omitempty"`
	// Limits are limits of each run.
	Limits Limits `json:"limits,omitzero"`
	// Quota bounds the tenant's total use. A nil field means the server's default.
	Quota Quota `json:"quota,omitzero"`
	// Policy bounds what its agents may do.
	Policy    Policy    `json:"policy,omitzero"`
	Retention Retention `json:"retention,omitzero"`
	// Isolation says whether users of the tenant can reach each other's conversations. Empty means
	// [IsolationUser].
	Isolation Isolation `json:"isolation,omitempty"`
	// Approvals says who may answer the questions of a user's run. Empty means [ApprovalsOwn].
	Approvals Approvals `json:"approvals,omitempty"`
	// FailedRuns says what later runs see of a failed run. Empty means the server's default, which
	// is [ForgetFailedRuns] unless its operator has chosen.
	FailedRuns FailedRuns `json:"failed_runs,omitempty"`
	// Revision counts the changes.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// Limits are limits of a run. 0 means no limit of this kind.
type Limits struct {
	Cycles       int   `json:"max_turns,omitempty"`
	ToolCalls    int   `json:"max_tool_calls,omitempty"`
	InputTokens  int64 `json:"max_input_tokens,omitempty"`
	OutputTokens int64 `json:"max_output_tokens,omitempty"`
	TotalTokens  int64 `json:"max_total_tokens,omitempty"`
	// Cost bounds the cost of its model calls.
	Cost pricing.NanoUSD `json:"max_cost_usd,omitzero"`
	// Seconds bounds the active time. Time spent waiting for an answer does not count.
	Seconds int `json:"timeout_seconds,omitempty"`
}

// Permissions are lists of tool names, or patterns in the syntax of [path.Match]: tools that may be
// called, tools that need an approval for each call, and tools that may not be called. A tool that
// matches nothing is allowed.
type Permissions struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Policy bounds what a tenant's agents may do.
type Policy struct {
	// Permissions apply beside those of each agent. The strictest one wins.
	Permissions Permissions `json:"permissions,omitzero"`
	// Models are the models that may be used. None means all. An id means the operator's model with
	// that id: a shared one, or one of the tenant's with the operator's credential. "own:" and an
	// id means the tenant's model with its own key, and "own:*" all of those.
	Models []string `json:"models,omitempty"`
	// ServerTools are the kinds of provider tools that the tenant's agents may use with models that the operator pays
	// for. A tenant's own models are not bound.
	ServerTools []string `json:"server_tools,omitempty"`
	// ServiceTiers are the tiers that they may use with models that the operator pays for.
	ServiceTiers []string `json:"service_tiers,omitempty"`
	// RunSettings names what requests may set for their run: instructions, model_options and tool_choice. None means
	// none of them.
	RunSettings []string `json:"run_settings,omitempty"`
	// Workspaces says whether conversations have files, on a server with workspaces. Empty means [WorkspacesOn].
	Workspaces Workspaces `json:"workspaces,omitempty"`
	// Shell lets agents run commands in a sandbox, on a server whose operator has enabled that. An agent of the tenant must
	// also name the tool shell in its list of tools.
	Shell bool `json:"shell,omitempty"`
}

// Workspaces says whether conversations have files.
type Workspaces string

// These are the choices for workspaces.
const (
	WorkspacesOn  Workspaces = "on"
	WorkspacesOff Workspaces = "off"
)

// Retention is how many days data is kept after its last change. 0 means for ever. A conversation
// is removed with its messages, tool arguments and results. Its usage stays, because it was paid
// for.
type Retention struct {
	Conversations int `json:"conversations_days,omitempty"`
}

// Isolation says which conversations a key with a user can reach. A key without a user always
// reaches all conversations of its tenant.
type Isolation string

// These are the isolations.
const (
	// IsolationUser isolates users: a key with a user reaches only that user's conversations.
	IsolationUser Isolation = "user"
	// IsolationTenant lets every key of the tenant reach all of its conversations.
	IsolationTenant Isolation = "tenant"
)

// Approvals says who may answer the questions of a user's run. A key without a user may always
// answer.
type Approvals string

// These are the approvals.
const (
	// ApprovalsOwn lets only the user who started the run answer.
	ApprovalsOwn Approvals = "own"
	// ApprovalsAny lets every user answer who can reach the conversation.
	ApprovalsAny Approvals = "any"
)

// FailedRuns says what later runs of a conversation see of a failed run. A failed run can always be
// continued.
type FailedRuns string

// These are the choices for failed runs.
const (
	// ForgetFailedRuns hides its messages and results. Later runs see a note of what its tools did.
	ForgetFailedRuns FailedRuns = "forget"
	// KeepFailedRuns keeps its complete messages and results, with a note that it failed.
	KeepFailedRuns FailedRuns = "keep"
)
