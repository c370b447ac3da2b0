package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/secret"
)

// Admin administers a server: tenants, their agents, models and keys, and the audit. For a tenant
// of "" a method works on what all tenants share: shared models, the operator's own keys, and the
// operator's audit. It is safe for concurrent use.
type Admin struct{ client *Client }

// Admin returns the administration of the server. Each method needs a credential with its scope.
func (c *Client) Admin() Admin { return Admin{c} }

// These are the statuses of tenants, agents and models.
const (
	Active   = "active"
	Inactive = "inactive"
)

// Tenant is a customer of the server.
type Tenant struct {
	TenantSpec

	ID string `json:"id"`
	// Revision counts the changes; see [Admin.UpdateTenant].
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// QuotaInForce is Quota with the server's defaults. Only [Admin.Tenant] sets it.
	QuotaInForce Quota `json:"quota_in_force,omitzero"`
	// Use is how much of it is used. Only [Admin.Tenant] sets it.
	Use Use `json:"use,omitzero"`
}

// Quota bounds a tenant's total use. In a tenant's Quota nil means the server's default, and 0
// means no bound.
type Quota struct {
	// RequestsPerMinute, RunningRuns and QueuedRuns apply to each server.
	RequestsPerMinute *int64 `json:"requests_per_minute,omitempty"`
	RunningRuns       *int64 `json:"running_runs,omitempty"`
	QueuedRuns        *int64 `json:"queued_runs,omitempty"`
	Conversations     *int64 `json:"conversations,omitempty"`
	Agents            *int64 `json:"agents,omitempty"`
	StoredBytes       *int64 `json:"stored_bytes,omitempty"`
	// TokensPerDay and CostPerDayUSD apply to a day in UTC. The cost is a decimal number of
	// dollars, such as "2.50".
	TokensPerDay  *int64  `json:"tokens_per_day,omitempty"`
	CostPerDayUSD *string `json:"cost_per_day_usd,omitempty"`
}

// Use is how much of its quota a tenant uses.
type Use struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	StoredBytes   int64 `json:"stored_bytes"`
	// TokensToday and CostTodayUSD are for the current day in UTC.
	TokensToday  int64  `json:"tokens_today"`
	CostTodayUSD string `json:"cost_today_usd"`
}

// TenantSpec holds the settings of a tenant. Only the operator may change Status, Limits, Quota,
// Policy and Retention.
type TenantSpec struct {
	Name   string `json:"name,omitempty"`
	Status string `json:"status,omitempty"`
	// SystemPrompt precedes the instructions of each of its agents.
	SystemPrompt string `json:"system_prompt,omitempty"`
	// DefaultAgent answers if no agent is named.
	DefaultAgent string `json:"default_agent,omitempty"`
	// DefaultModel answers if no model is named.
	DefaultModel string    `json:"default_model,omitempty"`
	Limits       Bounds    `json:"limits,omitzero"`
	Quota        Quota     `json:"quota,omitzero"`
	Policy       Policy    `json:"policy,omitzero"`
	Retention    Retention `json:"retention,omitzero"`
	// Isolation is "user" or "tenant": with "tenant" keys with users can reach each other's
	// conversations. Empty means "user".
	Isolation string `json:"isolation,omitempty"`
	// FailedRuns is "keep" or "forget": what later runs see of a failed run. Empty means the
	// server's default.
	FailedRuns string `json:"failed_runs,omitempty"`
	// Approvals is "own" or "any": who may answer the questions of a user's run. Empty means "own".
	Approvals string `json:"approvals,omitempty"`
}

// Bounds are limits of each run. 0 means no limit.
type Bounds struct {
	Cycles       int   `json:"max_turns,omitempty"`
	ToolCalls    int   `json:"max_tool_calls,omitempty"`
	InputTokens  int64 `json:"max_input_tokens,omitempty"`
	OutputTokens int64 `json:"max_output_tokens,omitempty"`
	TotalTokens  int64 `json:"max_total_tokens,omitempty"`
	// CostUSD is a decimal number of dollars, such as "0.50". "" means no limit.
	CostUSD string `json:"max_cost_usd,omitempty"`
	Seconds int    `json:"timeout_seconds,omitempty"`
}

// Permissions are patterns of tool names: tools that may be called, tools that need an approval,
// and tools that may not be called.
type Permissions struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Policy bounds what a tenant's agents may do.
type Policy struct {
	Permissions Permissions `json:"permissions,omitzero"`
	// Models are the models that may be used. None means all.
	Models []string `json:"models,omitempty"`
	// ServerTools are the kinds of provider tools that its agents may use with models that the operator pays for.
	ServerTools []string `json:"server_tools,omitempty"`
	// ServiceTiers are the tiers that they may use with these models.
	ServiceTiers []string `json:"service_tiers,omitempty"`
	// RunSettings names what requests may set for their run: "instructions", "model_options" and "tool_choice".
	RunSettings []string `json:"run_settings,omitempty"`
	// Workspaces is "on" or "off": whether conversations have files, on a server with workspaces. "" means on.
	Workspaces string `json:"workspaces,omitempty"`
	// Shell lets agents that name the tool shell run commands in a sandbox, on a server that has it.
	Shell bool `json:"shell,omitempty"`
}

// Retention is how many days data is kept. 0 means for ever.
type Retention struct {
	Conversations int `json:"conversations_days,omitempty"`
}

// Agent is an agent of a tenant in one of its versions.
type Agent struct {
	AgentSpec

	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	// Version is the version of the spec.
	Version int `json:"version"`
	// Newest is the last version that exists.
	Newest    int       `json:"newest_version"`
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// AgentSpec holds the settings of an agent. A change of anything but Status makes a new version.
type AgentSpec struct {
	Status       string `json:"status,omitempty"`
	Name         string `json:"name,omitempty"`
	Description  string `json:"description,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Model is an id or an alias.
	Model string `json:"model,omitempty"`
	// Tools are patterns of the server's tools. nil means all of them, an empty list means none.
	Tools []string `json:"tools,omitzero"`
	// MCPServers are ids of the tenant's MCP servers. nil means all active ones, an empty list means none.
	MCPServers  []string            `json:"mcp_servers,omitzero"`
	Permissions Permissions         `json:"permissions,omitzero"`
	Limits      Bounds              `json:"limits,omitzero"`
	Skills      []string            `json:"skills,omitempty"`
	SubAgents   map[string]SubAgent `json:"sub_agents,omitempty"`

	// Settings override those of its model.
	Settings //nolint:embeddedstructfieldcheck // the order of the JSON

	// Context is summary, window, provider or none: how long conversations are compacted. "" means
	// the server's default.
	Context string `json:"context,omitempty"`
}

// Settings are settings of model calls. An agent's unset settings come from its model, and those
// from the server.
type Settings struct {
	// Effort is none, low, medium, high, max, or the vendor's own word.
	Effort       string   `json:"effort,omitempty"`
	ShowThinking *bool    `json:"show_thinking,omitempty"`
	TopP         *float64 `json:"top_p,omitempty"`
	Seed         *int64   `json:"seed,omitempty"`
	// Verbosity is low, medium or high.
	Verbosity   string `json:"verbosity,omitempty"`
	ServiceTier string `json:"service_tier,omitempty"`
	// ServerTools are tools that the provider runs. nil means the defaults, an empty list means
	// none.
	ServerTools []ServerTool `json:"server_tools,omitzero"`
}

// ServerTool is a tool that the provider runs.
type ServerTool struct {
	// Kind is web_search, web_fetch, code_execution or file_search.
	Kind string `json:"kind"`
	// MaxUses bounds its uses in one call. 0 means the provider's default.
	MaxUses int `json:"max_uses,omitempty"`
	// Domains are the only hosts that web_search and web_fetch may use.
	Domains []string `json:"domains,omitempty"`
	// Blocked are the hosts that they may not use.
	Blocked []string `json:"blocked,omitempty"`
	// Stores are what file_search searches, by the provider's ids.
	Stores []string `json:"stores,omitempty"`
}

// SubAgent is an agent that another one uses as a tool: one of the tenant's agents by its id, or
// one that is described here.
type SubAgent struct {
	Agent        string   `json:"agent,omitempty"`
	Version      int      `json:"version,omitempty"`
	Description  string   `json:"description,omitempty"`
	Model        string   `json:"model,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	Limits       Bounds   `json:"limits,omitzero"`
	// Via is "tool", the default, or "task": a type of the Task tool.
	Via string `json:"via,omitempty"`
	// Background is "await" or "stop" if calls of the Task tool may be in the background.
	Background string `json:"background,omitempty"`
}

// AgentVersion is one version of an agent.
type AgentVersion struct {
	AgentSpec

	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
}

// TenantModel is a model that a tenant may use. Tenant is empty for a shared model.
type TenantModel struct {
	Tenant   string   `json:"tenant,omitempty"`
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Provider string   `json:"provider"`
	Name     string   `json:"name"`
	Region   string   `json:"region,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
	Prices   Prices   `json:"prices,omitzero"`

	Settings //nolint:embeddedstructfieldcheck // the order of the JSON

	// Credential describes the credential for the provider. It never contains the key.
	Credential struct {
		Env    string `json:"env,omitempty"`
		EndsIn string `json:"ends_in,omitempty"`
	} `json:"credential,omitzero"`
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Prices are dollars for a million tokens, as decimal numbers such as "3.75". "" means unknown.
type Prices struct {
	Input      string `json:"input,omitempty"`
	Output     string `json:"output,omitempty"`
	CacheRead  string `json:"cache_read,omitempty"`
	CacheWrite string `json:"cache_write,omitempty"`
	// CacheWriteHour is for tokens that are cached for an hour. If it is "" and CacheWrite is not,
	// it is twice Input.
	CacheWriteHour string `json:"cache_write_hour,omitempty"`
	// WebSearch and FileSearch are for a thousand searches that the provider runs.
	WebSearch  string `json:"web_search,omitempty"`
	FileSearch string `json:"file_search,omitempty"`
}

// NewModel holds the settings of a new model.
type NewModel struct {
	// Settings are the defaults of its calls. An agent may override them.
	Settings

	ID       string   `json:"id"`
	Status   string   `json:"status,omitempty"`
	Provider string   `json:"provider"`
	Name     string   `json:"name"`
	Region   string   `json:"region,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
	Prices   Prices   `json:"prices,omitzero"`
	// Env is a variable of the server's environment with the provider's key. It excludes Key.
	Env string `json:"-"`
	// Key is the provider's key. It excludes Env.
	Key secret.Secret `json:"-"`
}

// APIKey describes a key, without its token.
type APIKey struct {
	Tenant string   `json:"tenant,omitempty"`
	ID     string   `json:"id"`
	Name   string   `json:"name,omitempty"`
	User   string   `json:"user,omitempty"`
	Scopes []string `json:"scopes"`
	// ExpiresAt is zero for a key that never expires.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// RevokedAt is zero for a key that is not revoked.
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// LastUsedAt is up to a minute late. Zero means never.
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
	Revision   int64     `json:"revision"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// NewKey holds the settings of a new key.
type NewKey struct {
	Name string `json:"name,omitempty"`
	// User is the user that the key acts for.
	User string `json:"user,omitempty"`
	// Scopes are some of read, write, admin:read, admin:write and operator.
	Scopes []string `json:"scopes"`
	// ExpiresAt is when the key expires. Zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// AuditEntry is one entry of an audit.
type AuditEntry struct {
	Tenant string    `json:"tenant,omitempty"`
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	By     struct {
		Tenant   string `json:"tenant,omitempty"`
		Key      string `json:"key,omitempty"`
		User     string `json:"user,omitempty"`
		Operator bool   `json:"operator,omitempty"`
	} `json:"by"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Detail json.RawMessage `json:"detail,omitempty"`
	Hash   []byte          `json:"hash"`
}

// Verified is the result of verifying an audit. Broken is the Seq of the first wrong entry, 0 if
// all are correct.
type Verified struct {
	Entries int64  `json:"entries"`
	Broken  int64  `json:"broken_at,omitempty"`
	Head    []byte `json:"head,omitempty"`
	// Erased lists audits that were erased without their tenant.
	Erased []Erasure `json:"erased,omitempty"`
}

// Erasure records that an audit was erased, with the hash of its last entry.
type Erasure struct {
	Tenant  string    `json:"tenant"`
	Time    time.Time `json:"time"`
	Entries int64     `json:"entries"`
	Head    []byte    `json:"head"`
}

// ListOptions select and order a list.
type ListOptions struct {
	// Status selects active or inactive entries. Empty selects all.
	Status string
	// Sort is id, created_at or -created_at. Empty means id.
	Sort string
	// Page is the size of a page. 0 means the server's default.
	Page int
}

func (o *ListOptions) query() url.Values {
	q := url.Values{}
	set(q, "status", o.Status)
	set(q, "sort", o.Sort)
	paged(q, o.Page)
	return q
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func paged(q url.Values, n int) {
	if n > 0 {
		q.Set("limit", strconv.Itoa(n))
	}
}

// Patch is a JSON merge patch (RFC 7396): a named member replaces the old value, nil removes it,
// and other members stay.
type Patch map[string]any

// in returns a path below the tenant, or below what all share.
func (a Admin) in(tenant string, names ...string) (string, error) {
	parts := []string{"admin"}
	if tenant != "" {
		names = append([]string{"tenants", tenant}, names...)
	}
	for _, name := range names {
		if !plain(name) {
			return "", nothing()
		}
	}
	return path(append(parts, names...)...), nil
}

// ask calls an operation.
func (a Admin) ask(ctx context.Context, method string, header http.Header, in, out any, tenant string, names ...string) error {
	return a.askWith(ctx, method, nil, header, in, out, tenant, names...)
}

func (a Admin) askWith(
	ctx context.Context, method string, query url.Values, header http.Header, in, out any, tenant string, names ...string,
) error {
	at, err := a.in(tenant, names...)
	if err != nil {
		return err
	}
	return a.client.callWith(ctx, method, at, query, header, in, out)
}

// once returns a header that makes a creation idempotent, in case the connection sends it again.
func once() http.Header { return http.Header{"Idempotency-Key": {rand.Text()}} }

// ifAt returns a header that refuses a change if the object was changed since. Revision 0 means
// any.
func ifAt(revision int64) http.Header {
	if revision == 0 {
		return nil
	}
	return http.Header{"If-Match": {strconv.Quote(strconv.FormatInt(revision, 10))}}
}

// all yields the entries of a list, page by page.
func all[T any](ctx context.Context, a Admin, query url.Values, tenant string, names ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		at, err := a.in(tenant, names...)
		if err != nil {
			yield(none, err)
			return
		}
		for {
			var page struct {
				data[T]

				Next *string `json:"next_cursor"`
			}
			if err := a.client.call(ctx, http.MethodGet, at, query, nil, &page); err != nil {
				yield(none, err)
				return
			}
			for i := range page.Data {
				if !yield(page.Data[i], nil) {
					return
				}
			}
			if page.Next == nil {
				return
			}
			query.Set("cursor", *page.Next)
		}
	}
}

// CreateTenant creates a tenant. It returns [event.ErrConflict] if the id is taken.
func (a Admin) CreateTenant(ctx context.Context, id string, spec TenantSpec) (out Tenant, err error) {
	in := struct {
		TenantSpec

		ID string `json:"id"`
	}{spec, id}
	return out, a.ask(ctx, http.MethodPost, once(), in, &out, "", "tenants")
}

// Tenants yields all tenants. An error is the last thing that it yields, as with every list here.
func (a Admin) Tenants(ctx context.Context, o ListOptions) iter.Seq2[Tenant, error] {
	return all[Tenant](ctx, a, o.query(), "", "tenants")
}

// Tenant returns a tenant.
func (a Admin) Tenant(ctx context.Context, id string) (out Tenant, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, "", "tenants", id)
}

// UpdateTenant changes parts of a [TenantSpec]. revision is the revision that was read, 0 for any.
// It returns [event.ErrConflict] if the tenant was changed since.
func (a Admin) UpdateTenant(ctx context.Context, id string, revision int64, patch Patch) (out Tenant, err error) {
	return out, a.ask(ctx, http.MethodPatch, ifAt(revision), patch, &out, "", "tenants", id)
}

// Erased counts what an erased tenant had.
type Erased struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	Models        int64 `json:"models"`
	MCPServers    int64 `json:"mcp_servers"`
	Webhooks      int64 `json:"webhooks"`
	Skills        int64 `json:"skills"`
	Keys          int64 `json:"keys"`
	AuditEntries  int64 `json:"audit_entries"`
	// AuditKept is how many audit entries the owner of a PostgreSQL database can still read, and
	// remove with braid audits.
	AuditKept int64 `json:"audit_kept,omitempty"`
	// AuditHead is the hash of the audit's last entry. It is empty if there was none.
	AuditHead []byte `json:"audit_head,omitempty"`
}

// EraseTenant removes an inactive tenant with all of its data. It cannot be undone. It returns
// [event.ErrConflict] for an active tenant.
func (a Admin) EraseTenant(ctx context.Context, id string) (out Erased, err error) {
	return out, a.ask(ctx, http.MethodDelete, nil, nil, &out, "", "tenants", id)
}

// CreateAgent creates an agent with its first version.
func (a Admin) CreateAgent(ctx context.Context, tenant, id string, spec AgentSpec) (out Agent, err error) {
	in := struct {
		AgentSpec

		ID string `json:"id"`
	}{spec, id}
	return out, a.ask(ctx, http.MethodPost, once(), in, &out, tenant, "agents")
}

// Agents yields a tenant's agents, each in its newest version.
func (a Admin) Agents(ctx context.Context, tenant string, o ListOptions) iter.Seq2[Agent, error] {
	return all[Agent](ctx, a, o.query(), tenant, "agents")
}

// Agent returns an agent in one of its versions. 0 means the newest.
func (a Admin) Agent(ctx context.Context, tenant, id string, version int) (out Agent, err error) {
	names := []string{"agents", id}
	if version != 0 {
		names = append(names, "versions", strconv.Itoa(version))
	}
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, names...)
}

// AgentVersions yields the versions of an agent, the newest first.
func (a Admin) AgentVersions(ctx context.Context, tenant, id string) iter.Seq2[AgentVersion, error] {
	return all[AgentVersion](ctx, a, url.Values{}, tenant, "agents", id, "versions")
}

// UpdateAgent changes parts of an [AgentSpec], as [Admin.UpdateTenant] does.
func (a Admin) UpdateAgent(ctx context.Context, tenant, id string, revision int64, patch Patch) (out Agent, err error) {
	return out, a.ask(ctx, http.MethodPatch, ifAt(revision), patch, &out, tenant, "agents", id)
}

// CreateModel creates a model of a tenant, or a shared one.
func (a Admin) CreateModel(ctx context.Context, tenant string, m NewModel) (out TenantModel, err error) {
	in := struct {
		NewModel

		Credential Patch `json:"credential,omitempty"`
	}{NewModel: m}
	switch {
	case m.Env != "":
		in.Credential = Patch{"env": m.Env}
	case !m.Key.Empty():
		in.Credential = Patch{"secret": m.Key.Reveal()}
	}
	return out, a.ask(ctx, http.MethodPost, once(), in, &out, tenant, "models")
}

// Models yields a tenant's own models, or the shared ones.
func (a Admin) Models(ctx context.Context, tenant string, o ListOptions) iter.Seq2[TenantModel, error] {
	return all[TenantModel](ctx, a, o.query(), tenant, "models")
}

// Model returns a model.
func (a Admin) Model(ctx context.Context, tenant, id string) (out TenantModel, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, "models", id)
}

// UpdateModel changes a model, as [Admin.UpdateTenant] does. A "credential" in the patch is {"env":
// …}, {"secret": …} or nil, and replaces the old one. Removing an alias that is in use needs
// [Force].
func (a Admin) UpdateModel(
	ctx context.Context, tenant, id string, revision int64, patch Patch, options ...WriteOption,
) (out TenantModel, err error) {
	return out, a.askWith(ctx, http.MethodPatch, queryOf(options), ifAt(revision), patch, &out, tenant, "models", id)
}

// DeleteModel removes a model with its key. For a model in use it needs [Force]; otherwise it
// returns [event.ErrConflict], which names the users.
func (a Admin) DeleteModel(ctx context.Context, tenant, id string, revision int64, options ...WriteOption) error {
	return a.askWith(ctx, http.MethodDelete, queryOf(options), ifAt(revision), nil, nil, tenant, "models", id)
}

// WriteOption changes how something is written.
type WriteOption func(url.Values)

// Force allows removing a model, or an alias of one, that is in use.
func Force() WriteOption { return func(q url.Values) { q.Set("force", "true") } }

func queryOf(options []WriteOption) url.Values {
	q := url.Values{}
	for _, set := range options {
		set(q)
	}
	return q
}

// CreateKey creates a key of a tenant, or of the operator. The token is returned only this once.
func (a Admin) CreateKey(ctx context.Context, tenant string, k NewKey) (APIKey, secret.Secret, error) {
	var out struct {
		APIKey

		Token string `json:"token"`
	}
	err := a.ask(ctx, http.MethodPost, once(), k, &out, tenant, "keys")
	return out.APIKey, secret.New(out.Token), err
}

// Keys yields a tenant's keys, or the operator's own, including expired and revoked ones.
func (a Admin) Keys(ctx context.Context, tenant string, o ListOptions) iter.Seq2[APIKey, error] {
	return all[APIKey](ctx, a, o.query(), tenant, "keys")
}

// RevokeKey revokes a key at once and ends the streams that it opened.
func (a Admin) RevokeKey(ctx context.Context, tenant, id string) (out APIKey, err error) {
	return out, a.ask(ctx, http.MethodDelete, nil, nil, &out, tenant, "keys", id)
}

// AuditOptions select entries of an audit. Empty fields select all.
type AuditOptions struct {
	// Action is an action such as "agent.update".
	Action string
	// Object is an object such as "agent/helper".
	Object string
	// Page is the size of a page. 0 means the server's default.
	Page int
}

// Audit yields a tenant's audit, or the operator's, the newest entry first.
func (a Admin) Audit(ctx context.Context, tenant string, o AuditOptions) iter.Seq2[AuditEntry, error] {
	q := url.Values{}
	set(q, "action", o.Action)
	set(q, "object", o.Object)
	paged(q, o.Page)
	return all[AuditEntry](ctx, a, q, tenant, "audit")
}

// VerifyAudit looks for changed, missing and added entries in an audit.
func (a Admin) VerifyAudit(ctx context.Context, tenant string) (out Verified, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, "audit", "verify")
}

// Conversations yields a tenant's conversations, including those of its users, newest first. The
// tenant's audit records who reads it.
func (a Admin) Conversations(ctx context.Context, tenant string, f Filter) iter.Seq2[Conversation, error] {
	return all[Conversation](ctx, a, f.query(), tenant, "conversations")
}

// OperatedRun is a run as the operator sees it.
type OperatedRun struct {
	ID           string `json:"id"`
	Tenant       string `json:"tenant"`
	Conversation string `json:"conversation_id"`
	Turn         int    `json:"turn"`
	Status       string `json:"status"`
	// ErrorKind is the kind of the error that ended a failed run, such as run_poisoned.
	ErrorKind string    `json:"error_kind,omitempty"`
	User      string    `json:"user,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Executor  string    `json:"executor,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// WakeAt is when a waiting run goes on by itself. It is nil if only an answer continues it.
	WakeAt    *time.Time `json:"wake_at,omitempty"`
	Cancelled bool       `json:"cancel_requested,omitempty"`
	// LostDrivers counts the processes in a row that died while they drove the run.
	LostDrivers int `json:"lost_drivers,omitempty"`
}

// RunFilter selects runs of all tenants. Empty fields select all.
type RunFilter struct {
	Tenant string
	// Status is open, queued, running, waiting, completed, failed or cancelled.
	Status string
	User   string
	Agent  string
	// ErrorKind is the kind of the error that ended a failed run.
	ErrorKind string
	// Since selects runs that were admitted at this time or later.
	Since time.Time
	// Page is the size of a page. 0 means the server's default.
	Page int
}

// Runs yields the runs of all tenants, newest first. It needs the scope operator.
func (a Admin) Runs(ctx context.Context, f RunFilter) iter.Seq2[OperatedRun, error] {
	q := url.Values{}
	set(q, "tenant", f.Tenant)
	set(q, "status", f.Status)
	set(q, "user", f.User)
	set(q, "agent", f.Agent)
	set(q, "error_kind", f.ErrorKind)
	if !f.Since.IsZero() {
		q.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	paged(q, f.Page)
	return all[OperatedRun](ctx, a, q, "", "runs")
}

// Run returns a run of any tenant. It needs the scope operator.
func (a Admin) Run(ctx context.Context, id string) (out OperatedRun, err error) {
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, "", "runs", id)
}

// CancelRun cancels a run of any tenant. The tenant's audit records it. It returns
// [event.ErrConflict] if the run has ended. It needs the scope operator.
func (a Admin) CancelRun(ctx context.Context, id string) error {
	return a.ask(ctx, http.MethodPost, nil, nil, nil, "", "runs", id, "cancel")
}

// LogOptions select rows of a tenant's logs. Empty fields select all.
type LogOptions struct {
	Conversation, Run, Executor string
	// User selects the user of the run. It applies to usage only.
	User string
	// Model applies to usage, Tool to tools.
	Model, Tool string
	// From is the start of the period, inclusive. To is the end, exclusive.
	From, To time.Time
	// Page is the size of a page. 0 means the server's default.
	Page int
}

func (o *LogOptions) query() url.Values {
	q := url.Values{}
	set(q, "conversation", o.Conversation)
	set(q, "run", o.Run)
	set(q, "executor", o.Executor)
	set(q, "user", o.User)
	set(q, "model", o.Model)
	set(q, "tool", o.Tool)
	for name, at := range map[string]time.Time{"from": o.From, "to": o.To} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	paged(q, o.Page)
	return q
}

// Tokens are the four counts that providers charge for.
type Tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Usage is the use of one attempt of a model call.
type Usage struct {
	Tokens

	Conversation string `json:"conversation_id"`
	Run          string `json:"run_id"`
	Turn         int    `json:"turn"`
	Executor     string `json:"executor,omitempty"`
	// User is the user of the run. It is empty if the run has none, and in rows of older versions.
	User string `json:"user,omitempty"`
	// Kind is model, compaction or title.
	Kind string `json:"kind"`
	// ToolUseID is the tool call of a sub-agent. It is empty for the main agent.
	ToolUseID string `json:"tool_use_id,omitempty"`
	// SubagentType is the name of a sub-agent. It is empty for the main agent.
	SubagentType string `json:"subagent_type,omitempty"`
	Model        string `json:"model"`
	// CostUSD is a decimal number of dollars. nil means unknown.
	CostUSD *string `json:"cost_usd"`
	// Estimated reports that the call was cut, so that the provider may charge more.
	Estimated bool      `json:"estimated,omitempty"`
	Attempt   int       `json:"attempt"`
	Status    string    `json:"status"`
	RunStatus string    `json:"run_status"`
	Time      time.Time `json:"time"`
}

// UsageSum is the total use of a group of calls.
type UsageSum struct {
	Tokens

	// Key is what the calls have in common.
	Key   string `json:"key"`
	Calls int64  `json:"calls"`
	// CostUSD is nil if the cost of any call is unknown: Unpriced counts these, and KnownUSD is the
	// cost of the others.
	CostUSD  *string `json:"cost_usd"`
	KnownUSD string  `json:"known_cost_usd"`
	Unpriced int64   `json:"unpriced_calls"`
	// Estimated counts the calls that were cut. Their tokens and costs are estimates.
	Estimated int64 `json:"estimated_calls,omitempty"`
}

// ToolUse is a tool call.
type ToolUse struct {
	Conversation string          `json:"conversation_id"`
	Run          string          `json:"run_id"`
	Turn         int             `json:"turn"`
	Executor     string          `json:"executor,omitempty"`
	ToolUseID    string          `json:"tool_use_id"`
	Parent       string          `json:"parent_tool_use_id,omitempty"`
	SubagentType string          `json:"subagent_type,omitempty"`
	Name         string          `json:"tool_name"`
	Source       string          `json:"source,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	// Output is a list of blocks, as in events.
	Output   json.RawMessage `json:"output,omitempty"`
	IsError  bool            `json:"is_error"`
	Status   string          `json:"status"`
	Attempt  int             `json:"attempt"`
	Began    time.Time       `json:"began_at"`
	Finished *time.Time      `json:"finished_at,omitempty"`
}

// LoggedMessage is one message of a conversation, or a part of one.
type LoggedMessage struct {
	Seq       int64           `json:"seq"`
	Part      int             `json:"part"`
	Turn      int             `json:"turn"`
	Run       string          `json:"run_id,omitempty"`
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Parent    string          `json:"parent_tool_use_id,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	Time      time.Time       `json:"time"`
}

// Usage yields the use of models, newest first.
func (a Admin) Usage(ctx context.Context, tenant string, o LogOptions) iter.Seq2[Usage, error] {
	return all[Usage](ctx, a, o.query(), tenant, "usage")
}

// UsageSums yields the sums by model, day, conversation, run, executor, agent or kind. "" means
// model.
func (a Admin) UsageSums(ctx context.Context, tenant, by string, o LogOptions) iter.Seq2[UsageSum, error] {
	q := o.query()
	set(q, "by", by)
	return all[UsageSum](ctx, a, q, tenant, "usage", "sums")
}

// Tools yields the tool calls, newest first. The tenant's audit records who reads it.
func (a Admin) Tools(ctx context.Context, tenant string, o LogOptions) iter.Seq2[ToolUse, error] {
	return all[ToolUse](ctx, a, o.query(), tenant, "tools")
}

// Messages yields the messages of a conversation's ended runs in their order. The tenant's audit
// records who reads it. Of o only Run and Page apply.
func (a Admin) Messages(ctx context.Context, tenant, conversation string, o LogOptions) iter.Seq2[LoggedMessage, error] {
	o = LogOptions{Run: o.Run, Page: o.Page}
	return all[LoggedMessage](ctx, a, o.query(), tenant, "conversations", conversation, "messages")
}
