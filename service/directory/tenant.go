package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/database"
)

// Status says whether something may be used.
type Status string

// The statuses. Empty counts as active where something is made.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// DefaultTenant is the one that a server without settings serves. Its models are asked with what the
// server finds in its environment where they have no credential of their own.
const DefaultTenant = "default"

// Tenant is a customer: the boundary that nothing crosses.
type Tenant struct {
	ID string `json:"id"`
	// Life tells the tenant from others that had its id before and were erased. It is not shown.
	Life   string `json:"-"`
	Name   string `json:"name,omitempty"`
	Status Status `json:"status"`
	// SystemPrompt stands before the agent's own instructions in each of its runs.
	SystemPrompt string `json:"system_prompt,omitempty"`
	// Agent is the id of the agent that answers where none is named; empty means the server's.
	Agent string `json:"default_agent,omitempty"`
	// Model is the id or the alias of the model where neither run nor agent name one;
	// empty means the server's.
	Model string `json:"default_model,omitempty"`
	// Limits bound each run, whatever its agent and its request allow.
	Limits Limits `json:"limits,omitzero"`
	// Quota bounds what the tenant uses in all. A nil field means the server's default.
	Quota Quota `json:"quota,omitzero"`
	// Policy says what its agents may do at most.
	Policy    Policy    `json:"policy,omitzero"`
	Retention Retention `json:"retention,omitzero"`
	// Isolation says whether users of the tenant reach each other's conversations. Empty means
	// [IsolationUser].
	Isolation Isolation `json:"isolation,omitempty"`
	// Approvals says who may answer the questions of a user's run. Empty means [ApprovalsOwn].
	Approvals Approvals `json:"approvals,omitempty"`
	// FailedRuns says what later runs see of a run that failed. Empty means what the server does, which is
	// [ForgetFailedRuns] where its operator has not chosen.
	FailedRuns FailedRuns `json:"failed_runs,omitempty"`
	// Revision counts the changes.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// Limits bound a run; 0 means no bound of this kind.
type Limits struct {
	Cycles       int   `json:"max_turns,omitempty"`
	ToolCalls    int   `json:"max_tool_calls,omitempty"`
	InputTokens  int64 `json:"max_input_tokens,omitempty"`
	OutputTokens int64 `json:"max_output_tokens,omitempty"`
	TotalTokens  int64 `json:"max_total_tokens,omitempty"`
	// Cost is what its model calls may cost.
	Cost pricing.NanoUSD `json:"max_cost_usd,omitzero"`
	// Seconds bounds the active time: what is spent waiting for a person does not count.
	Seconds int `json:"timeout_seconds,omitempty"`
}

// Permissions are lists of tools' names, or of patterns in the syntax of [path.Match]:
// those that may be called, those for which a person is asked at each call, and those
// that may not be called. What nothing fits is allowed.
type Permissions struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Policy bounds what a tenant's agents may do.
type Policy struct {
	// Permissions hold beside those of each agent; the strictest counts.
	Permissions Permissions `json:"permissions,omitzero"`
	// Models say which models may be used; none means all. An id means the operator's model of that
	// id: one that all share, or one of the tenant's that is asked with the operator's credential.
	// "own:" and an id means the tenant's model with a key of its own, and "own:*" all of those.
	Models []string `json:"models,omitempty"`
	// ServerTools are the kinds of tools of the provider, and ServiceTiers the tiers, that the tenant's agents may ask of
	// models that the operator pays for; none means none. Of a model with a key of its own a tenant may ask all.
	ServerTools  []string `json:"server_tools,omitempty"`
	ServiceTiers []string `json:"service_tiers,omitempty"`
}

// Retention says how many days something is kept, after its last change; 0 means for ever.
// With a conversation go its messages and what its tools were given and gave; what it used
// stays, because it was paid for.
type Retention struct {
	Conversations int `json:"conversations_days,omitempty"`
}

const tenantColumns = `id, life, status, revision, created, updated, doc`

func scanTenant(scan func(...any) error) (Tenant, error) {
	var t Tenant
	err := scanDoc(scan, &t, &t.ID, &t.Life, &t.Status, &t.Revision, &t.Created, &t.Updated)
	return t, err
}

// CreateTenant makes a tenant. Only the operator may. idem is a key of the caller's
// choice: whoever repeats a call with it gets what it has made; empty makes no such promise.
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

// EnsureTenant makes the tenant where there is none of its id, and leaves it alone
// where there is: for the one that a server begins with.
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

// GetTenant gives a tenant as it stands, active or not. For a run there is [Directory.Tenant].
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

// Tenant gives a tenant for a request or a run: from memory. If it is not active, it comes with an
// error with the code TENANT_INACTIVE.
func (d *Directory) Tenant(ctx context.Context, id string) (Tenant, error) {
	t, err := lookup(ctx, d, &d.tenants, id, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, id) })
	if err == nil && t.Status != Active {
		return t, tenantInactive("tenant")
	}
	return t, err
}

// ListTenants lists tenants. It is the operator's.
func (d *Directory) ListTenants(ctx context.Context, q Query) (list []Tenant, next string, err error) {
	return page(ctx, d, "", true, q, listing[Tenant]{
		op: "list tenants", from: `SELECT ` + tenantColumns + ` FROM tenant WHERE true`, scan: scanTenant,
		place: func(t Tenant) (string, time.Time) { return t.ID, t.Created },
	})
}

// Isolation says how far a key that names a user reaches. A key without a user always reaches
// all conversations of its tenant.
type Isolation string

// The isolations.
const (
	// IsolationUser keeps users apart: a key that names a user reaches that user's conversations
	// and no others.
	IsolationUser Isolation = "user"
	// IsolationTenant lets every key of the tenant reach all of its conversations.
	IsolationTenant Isolation = "tenant"
)

// Approvals says who may answer the questions that a user's run asks. A key without a user may
// always answer.
type Approvals string

// The approvals.
const (
	// ApprovalsOwn lets only the user answer who began the run.
	ApprovalsOwn Approvals = "own"
	// ApprovalsAny lets every user answer who reaches the conversation.
	ApprovalsAny Approvals = "any"
)

// FailedRuns says what the later runs of a conversation see of a run that failed. Either way it can be continued.
type FailedRuns string

// What may become of failed runs.
const (
	// ForgetFailedRuns leaves out its messages and results. Later runs see a note of what its tools did.
	ForgetFailedRuns FailedRuns = "forget"
	// KeepFailedRuns leaves its whole messages and results, with a note that it failed.
	KeepFailedRuns FailedRuns = "keep"
)

// UpdateTenant calls change with the tenant and keeps what it leaves; an error of
// change is the answer. revision is the one that the caller has read; 0 means whichever.
// Id, revision and times are not change's. It may be called more than once. Only the
// operator may change a status, limits, quota, policy and retention. Isolation and approvals take a key
// that names no user, because they decide what such a key reaches.
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
