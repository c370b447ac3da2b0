package directory

import (
	"context"
	"math"
	"time"

	"github.com/braidrun/braid/service/database"
)

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
		done, err := repeated(tx, op, a.Tenant, idem, "agent/"+a.ID, made)
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
		if err := newReferrer(tx, op, &t, &d.refs).checkAgent(&a.AgentSpec, &AgentSpec{}); err != nil {
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

// Agent returns an agent for a run, from the cache. It returns an error with the code
// AGENT_INACTIVE if the agent is inactive.
func (d *Directory) Agent(ctx context.Context, tenant, id string, version int) (Agent, error) {
	a, err := lookup(ctx, &d.changes, &d.agents, agentKey{tenant, id, version}, func(ctx context.Context) (Agent, error) {
		return d.GetAgent(ctx, tenant, id, version)
	})
	if err == nil && a.Status != Active {
		return Agent{}, agentInactive("agent")
	}
	return a, err
}

// ListAgents lists a tenant's agents, each in its newest version.
func (d *Directory) ListAgents(ctx context.Context, tenant string, q Query) (list []Agent, next string, err error) {
	return page(ctx, d.db, tenant, false, q, listing[Agent]{
		op: "list agents", from: selectAgent + ` AND v.version = a.version WHERE a.tenant = ?`, args: []any{tenant}, scan: scanAgent, prefix: "a.",
		place: func(a Agent) (string, time.Time) { return a.ID, a.Created },
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
			if err := newReferrer(tx, op, &t, &d.refs).checkAgent(&a.AgentSpec, &old.AgentSpec); err != nil {
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
