package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/database"
)

// Status says whether something may be used.
type Status string

// These are the statuses. Empty means active for a new object.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
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
}

// Retention is how many days data is kept after its last change. 0 means for ever. A conversation
// is removed with its messages, tool arguments and results. Its usage stays, because it was paid
// for.
type Retention struct {
	Conversations int `json:"conversations_days,omitempty"`
}

const tenantColumns = `id, life, status, revision, created, updated, doc`

func scanTenant(scan func(...any) error) (Tenant, error) {
	var t Tenant
	err := scanDoc(scan, &t, &t.ID, &t.Life, &t.Status, &t.Revision, &t.Created, &t.Updated)
	return t, err
}

// CreateTenant creates a tenant. Only the operator may call it. idem is an idempotency key: a
// repeated call with the same key returns the object that the first one created. Empty means none.
func (d *Directory) CreateTenant(ctx context.Context, by By, t Tenant, idem string) (Tenant, error) {
	const op = "create tenant"
	if err := by.mustOperate(op); err != nil {
		return Tenant{}, err
	}
	if t.Status == "" {
		t.Status = Active
	}
	t.Life, t.Revision, t.Created = newLife(), 1, database.Now()
	t.Updated = t.Created
	if err := t.check(op); err != nil {
		return Tenant{}, err
	}
	made := t
	made.Revision, made.Created, made.Updated = 0, time.Time{}, time.Time{}
	err := d.write(ctx, op, "", func(tx *database.Tx) error {
		done, err := d.repeated(tx, op, "", idem, "tenant/"+t.ID, made)
		if err != nil {
			return err
		}
		if err := tx.For(t.ID); err != nil {
			return err
		}
		if done != "" {
			t, err = getTenant(tx, op, t.ID)
			return err
		}
		if err := d.referrer(tx, op, &t).checkTenant(&Tenant{}); err != nil {
			return err
		}
		doc, err := encode(t)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`INSERT INTO tenant (`+tenantColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			t.ID, t.Life, t.Status, t.Revision, database.Micros(t.Created), database.Micros(t.Updated), doc)
		if err != nil {
			return err
		}
		if n == 0 {
			return taken(op, "tenant")
		}
		if err := record(tx, t.ID, by, "tenant.create", "tenant/"+t.ID, nil); err != nil {
			return err
		}
		if err := tx.For(""); err != nil {
			return err
		}
		return record(tx, "", by, "tenant.create", "tenant/"+t.ID, nil)
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}

// EnsureTenant creates the tenant if there is none with its id, and otherwise changes nothing. A
// server calls it for its first tenant.
func (d *Directory) EnsureTenant(ctx context.Context, by By, t Tenant) error {
	_, err := d.GetTenant(ctx, t.ID)
	if !isNotFound(err) {
		return err
	}
	_, err = d.CreateTenant(ctx, by, t, "")
	if isConflict(err) {
		return nil
	}
	return err
}

func getTenant(tx *database.Tx, op, id string) (t Tenant, err error) {
	return one(tx, op, "tenant", `SELECT `+tenantColumns+` FROM tenant WHERE id = ?`, []any{id}, scanTenant)
}

// GetTenant returns a tenant, active or not. Runs use [Directory.Tenant].
func (d *Directory) GetTenant(ctx context.Context, id string) (t Tenant, err error) {
	const op = "tenant"
	if !isSlug(id) {
		return Tenant{}, notFound(op, "tenant")
	}
	err = d.db.Read(ctx, op, id, func(tx *database.Tx) error {
		t, err = getTenant(tx, op, id)
		return err
	})
	return t, err
}

// Tenant returns a tenant for a request or a run, from the cache. For an inactive tenant it returns
// the tenant and an error with the code TENANT_INACTIVE.
func (d *Directory) Tenant(ctx context.Context, id string) (Tenant, error) {
	t, err := lookup(ctx, d, &d.tenants, id, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, id) })
	if err == nil && t.Status != Active {
		return t, tenantInactive("tenant")
	}
	return t, err
}

// ListTenants lists all tenants. It is for the operator.
func (d *Directory) ListTenants(ctx context.Context, q Query) (list []Tenant, next string, err error) {
	return page(ctx, d, "", true, q, listing[Tenant]{
		op: "list tenants", from: `SELECT ` + tenantColumns + ` FROM tenant WHERE true`, scan: scanTenant,
		place: func(t Tenant) (string, time.Time) { return t.ID, t.Created },
	})
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

// UpdateTenant calls change with the tenant and stores the result. If change returns an error,
// UpdateTenant returns it and stores nothing. change may be called more than once, and cannot
// change id, revision and times. revision is the revision that the caller has read; 0 means any.
//
// Only the operator may change status, limits, quota, policy and retention. Isolation and approvals
// need a key without a user, because they decide what keys with a user can reach.
func (d *Directory) UpdateTenant(ctx context.Context, by By, id string, revision int64, change func(t *Tenant) error) (t Tenant, err error) {
	const op = "update tenant"
	if err := by.may(op, id); err != nil {
		return Tenant{}, err
	}
	err = d.write(ctx, op, id, func(tx *database.Tx) error {
		old, err := one(tx, op, "tenant", `SELECT `+tenantColumns+` FROM tenant WHERE id = ?`+tx.ForUpdate(), []any{id}, scanTenant)
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if t, err = copied(old); err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return err
		}
		t.ID, t.Life, t.Revision, t.Created, t.Updated = old.ID, old.Life, old.Revision, old.Created, old.Updated
		what, err := differences(old, t)
		if err != nil || len(what) == 0 {
			return err
		}
		if !by.Operator && (t.Status != old.Status || what.any("limits", "quota", "policy", "retention")) {
			return by.mustOperate(op)
		}
		if !by.Operator && by.User != "" && what.any("isolation", "approvals") {
			return boundToUser(op)
		}
		t.Revision, t.Updated = old.Revision+1, database.Now()
		if err := t.check(op); err != nil {
			return err
		}
		if err := d.referrer(tx, op, &t).checkTenant(&old); err != nil {
			return err
		}
		doc, err := encode(t)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE tenant SET status = ?, revision = ?, updated = ?, doc = ? WHERE id = ?`,
			t.Status, t.Revision, database.Micros(t.Updated), doc, id); err != nil {
			return err
		}
		return record(tx, id, by, "tenant.update", "tenant/"+id, what)
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}
