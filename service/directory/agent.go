package directory

import (
	"context"
	"math"
	"time"

	"github.com/braidrun/braid/service/database"
)

// Agent is an agent of a tenant. Its versions are added and never changed, and a conversation is
// pinned to one of them.
type Agent struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	// Life distinguishes agents that reuse one id in tenants that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Version is the version of the spec: 1, 2, 3 …
	Version int `json:"version"`
	// Newest is the last version that exists.
	Newest    int `json:"newest_version"`
	AgentSpec     //nolint:embeddedstructfieldcheck // the order of the JSON
	// Revision counts the changes, including those of the status.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	// Updated is the time of the last change, not of the version.
	Updated time.Time `json:"updated_at"`
}

// AgentSpec is the content of a version of an agent.
type AgentSpec struct {
	// Name is the name for users.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Instructions are the agent's part of the system prompt, after the tenant's.
	Instructions string `json:"instructions,omitempty"`
	// Model is the id or an alias of its model. Empty means the tenant's.
	Model string `json:"model,omitempty"`
	// Tools are names or patterns of the server's tools. nil means all that the server gives, an
	// empty list means none.
	Tools []string `json:"tools,omitzero"`
	// MCPServers are the ids of the tenant's MCP servers that it uses. nil means all active ones, an
	// empty list means none.
	MCPServers  []string    `json:"mcp_servers,omitzero"`
	Permissions Permissions `json:"permissions,omitzero"`
	Limits      Limits      `json:"limits,omitzero"`
	// Skills are the names of the skills that it prefers.
	Skills []string `json:"skills,omitempty"`

	// Settings override those of its model. Its sub-agents have their own.
	Settings //nolint:embeddedstructfieldcheck // JSON has them here

	// Context says how long conversations are compacted: summary, window, provider or none. Empty
	// means the server's default.
	Context string `json:"context,omitempty"`
	// SubAgents are agents that it may use as tools, by the name of the tool. The tree of
	// sub-agents has no duplicate names, no cycles and at most [MostNested] levels.
	SubAgents map[string]SubAgent `json:"sub_agents,omitempty"`
}

// SubAgent is an agent that another one uses as a tool: one of the tenant's agents, or one that is
// described here.
type SubAgent struct {
	// Agent is the id of one of the tenant's agents. It is empty for an agent that is described here.
	Agent string `json:"agent,omitempty"`
	// Version pins its version. 0 means the newest.
	Version int `json:"version,omitempty"`
	// Description tells the parent's model what it is for.
	Description string `json:"description,omitempty"`
	// Model is the id or an alias of a model that overrides the agent's own.
	Model string `json:"model,omitempty"`
	// Instructions are those of an agent that is described here.
	Instructions string `json:"instructions,omitempty"`
	// Tools are those of an agent that is described here.
	Tools []string `json:"tools,omitempty"`
}

// AgentVersion is one version of an agent.
type AgentVersion struct {
	Version   int       `json:"version"`
	Created   time.Time `json:"created_at"`
	AgentSpec           //nolint:embeddedstructfieldcheck // the order of the JSON
}

const (
	agentColumns = `a.tenant, a.id, a.life, a.status, a.version, a.revision, a.created, a.updated, v.version, v.doc`
	selectAgent  = `SELECT ` + agentColumns + ` FROM agent a JOIN agent_version v ON v.tenant = a.tenant AND v.agent = a.id`
)

func scanAgent(scan func(...any) error) (Agent, error) {
	var a Agent
	var created, updated int64
	var doc string
	if err := scan(&a.Tenant, &a.ID, &a.Life, &a.Status, &a.Newest, &a.Revision, &created, &updated, &a.Version, &doc); err != nil {
		return Agent{}, err
	}
	a.Created, a.Updated = database.Time(created), database.Time(updated)
	return a, decode(doc, &a.AgentSpec)
}

// CreateAgent creates an agent with its first version. idem is an idempotency key as in
// [Directory.CreateTenant].
func (d *Directory) CreateAgent(ctx context.Context, by By, a Agent, idem string) (Agent, error) {
	const op = "create agent"
	if err := by.may(op, a.Tenant); err != nil {
		return Agent{}, err
	}
	if a.Status == "" {
		a.Status = Active
	}
	a.Life, a.Version, a.Newest, a.Revision, a.Created = newLife(), 1, 1, 1, database.Now()
	a.Updated = a.Created
	if err := a.check(op); err != nil {
		return Agent{}, err
	}
	if err := d.refs.agent(op, &a.AgentSpec); err != nil {
		return Agent{}, err
	}
	made := a
	made.Created, made.Updated = time.Time{}, time.Time{}
	err := d.write(ctx, op, a.Tenant, func(tx *database.Tx) error {
		t, err := getTenant(tx, op, a.Tenant)
		if err != nil {
			return err
		}
		if err := lockAgents(tx, a.Tenant); err != nil {
			return err
		}
		done, err := d.repeated(tx, op, a.Tenant, idem, "agent/"+a.ID, made)
		if err != nil {
			return err
		}
		if done != "" {
			a, err = getAgent(tx, op, a.Tenant, a.ID, 0)
			return err
		}
		n, err := tx.Exec(`INSERT INTO agent (tenant, id, life, status, version, revision, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, a.Tenant, a.ID, a.Life, a.Status, a.Newest, a.Revision, database.Micros(a.Created), database.Micros(a.Updated))
		if err != nil {
			return err
		}
		if n == 0 {
			return taken(op, "agent")
		}
		if err := d.roomForAgent(tx, op, &t); err != nil {
			return err
		}
		if err := checkNested(tx, op, &a); err != nil {
			return err
		}
		if err := d.referrer(tx, op, &t).checkAgent(&a.AgentSpec, &AgentSpec{}); err != nil {
			return err
		}
		if err := addVersion(tx, &a); err != nil {
			return err
		}
		return record(tx, a.Tenant, by, "agent.create", "agent/"+a.ID, nil)
	})
	if err != nil {
		return Agent{}, err
	}
	return a, nil
}

func addVersion(tx *database.Tx, a *Agent) error {
	doc, err := encode(a.AgentSpec)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO agent_version (tenant, agent, version, created, doc) VALUES (?, ?, ?, ?, ?)`,
		a.Tenant, a.ID, a.Version, database.Micros(a.Updated), doc)
	return err
}

func getAgent(tx *database.Tx, op, tenant, id string, version int) (Agent, error) {
	which, args := ` AND v.version = a.version`, []any{tenant, id}
	if version > 0 {
		which, args = ` AND v.version = ?`, append(args, version)
	}
	return one(tx, op, "agent", selectAgent+` WHERE a.tenant = ? AND a.id = ?`+which, args, scanAgent)
}

// GetAgent returns an agent in one of its versions, active or not. Version 0 is the newest. Runs
// use [Directory.Agent].
func (d *Directory) GetAgent(ctx context.Context, tenant, id string, version int) (a Agent, err error) {
	const op = "agent"
	if !isSlug(tenant) || !isSlug(id) || version < 0 || version > math.MaxInt32 {
		return Agent{}, notFound(op, "agent")
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		a, err = getAgent(tx, op, tenant, id, version)
		return err
	})
	return a, err
}

type agentKey struct {
	tenant, id string
	version    int
}

// Agent returns an agent for a run, from the cache. It returns an error with the code
// AGENT_INACTIVE if the agent is inactive.
func (d *Directory) Agent(ctx context.Context, tenant, id string, version int) (Agent, error) {
	a, err := lookup(ctx, d, &d.agents, agentKey{tenant, id, version}, func(ctx context.Context) (Agent, error) {
		return d.GetAgent(ctx, tenant, id, version)
	})
	if err == nil && a.Status != Active {
		return Agent{}, agentInactive("agent")
	}
	return a, err
}

// ListAgents lists a tenant's agents, each in its newest version.
func (d *Directory) ListAgents(ctx context.Context, tenant string, q Query) (list []Agent, next string, err error) {
	return page(ctx, d, tenant, false, q, listing[Agent]{
		op: "list agents", from: selectAgent + ` AND v.version = a.version WHERE a.tenant = ?`, args: []any{tenant}, scan: scanAgent, prefix: "a.",
		place: func(a Agent) (string, time.Time) { return a.ID, a.Created },
	})
}

// ListAgentVersions lists the versions of an agent, the newest first. It ignores q.Status and
// q.Sort.
func (d *Directory) ListAgentVersions(ctx context.Context, tenant, id string, q Query) (list []AgentVersion, next string, err error) {
	return versions(ctx, d, tenant, id, q, versionList[AgentVersion]{
		op: "list agent versions", none: func(op string) error { return notFound(op, "agent") },
		exists: func(tx *database.Tx, op string) error { _, err := getAgent(tx, op, tenant, id, 0); return err },
		table:  "agent_version", column: "agent",
		read: func(version int, created time.Time, doc string) (AgentVersion, error) {
			v := AgentVersion{Version: version, Created: created}
			return v, decode(doc, &v.AgentSpec)
		},
		number: func(v AgentVersion) int { return v.Version },
	})
}

// UpdateAgent changes an agent as [Directory.UpdateTenant] does: it calls change with the newest
// version. A changed spec becomes a new version.
func (d *Directory) UpdateAgent(
	ctx context.Context, by By, tenant, id string, revision int64, change func(a *Agent) error,
) (a Agent, err error) {
	const op = "update agent"
	if err := by.may(op, tenant); err != nil {
		return Agent{}, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := lockAgents(tx, tenant); err != nil {
			return err
		}
		// Lock in a statement of its own, so that the next one sees the committed state.
		if _, err := tx.Get(`SELECT version FROM agent WHERE tenant = ? AND id = ?`+tx.ForUpdate(), []any{tenant, id}, new(int)); err != nil {
			return err
		}
		old, err := getAgent(tx, op, tenant, id, 0)
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if a, err = copied(old); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		a.Tenant, a.ID, a.Life, a.Version, a.Newest = old.Tenant, old.ID, old.Life, old.Version, old.Newest
		a.Revision, a.Created, a.Updated = old.Revision, old.Created, old.Updated
		what, err := differences(old, a)
		if err != nil || len(what) == 0 {
			return err
		}
		spec, err := differences(old.AgentSpec, a.AgentSpec)
		if err != nil {
			return err
		}
		a.Revision, a.Updated = old.Revision+1, database.Now()
		if len(spec) > 0 {
			a.Version++
			a.Newest = a.Version
		}
		if err := a.check(op); err != nil {
			return err
		}
		if len(spec) > 0 {
			if err := d.refs.agent(op, &a.AgentSpec); err != nil {
				return err
			}
			if err := checkNested(tx, op, &a); err != nil {
				return err
			}
			t, err := getTenant(tx, op, tenant)
			if err != nil {
				return err
			}
			if err := d.referrer(tx, op, &t).checkAgent(&a.AgentSpec, &old.AgentSpec); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`UPDATE agent SET status = ?, version = ?, revision = ?, updated = ? WHERE tenant = ? AND id = ?`,
			a.Status, a.Newest, a.Revision, database.Micros(a.Updated), tenant, id); err != nil {
			return err
		}
		if len(spec) > 0 {
			if err := addVersion(tx, &a); err != nil {
				return err
			}
		}
		return record(tx, tenant, by, "agent.update", "agent/"+id, what)
	})
	if err != nil {
		return Agent{}, err
	}
	return a, nil
}
