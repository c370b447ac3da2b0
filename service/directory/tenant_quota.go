package directory

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/service/database"
)

// Quota returns a tenant's current quota, with the server's defaults for unset fields. It also
// returns the tenant's life, to which all counts are bound. The tenant may be inactive.
func (d *Directory) Quota(ctx context.Context, tenant string) (q Quota, life string, err error) {
	t, err := lookup(ctx, &d.changes, &d.tenants, tenant, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, tenant) })
	return t.Quota.Or(d.quota), t.Life, err
}

// RunQuota returns the part of [Directory.Quota] that an engine needs. It never waits: for a tenant
// that is not in the cache it returns the defaults.
func (d *Directory) RunQuota(tenant string) (running, queued int) {
	d.tenants.mu.RLock()
	q := d.tenants.kept[tenant].value.Quota.Or(d.quota)
	d.tenants.mu.RUnlock()
	return int(min(Bound(q.Running), mostRuns)), int(min(Bound(q.Queued), mostRuns))
}

// mostRuns is more than a server can have.
const mostRuns = 1 << 30

// roomForAgent refuses the transaction's new agent if the tenant then has too many.
func (d *Directory) roomForAgent(tx *database.Tx, op string, t *Tenant) error {
	most := Bound(t.Quota.Or(d.quota).Agents)
	if most == 0 {
		return nil
	}
	var n int64
	if _, err := tx.Get(countAgents, []any{t.ID}, &n); err != nil || n <= most {
		return err
	}
	return OverQuota(op, "QUOTA_AGENTS", "the tenant has "+strconv.FormatInt(most, 10)+" agents, the most that it may have",
		"change one that is there, or ask the operator of this service for more")
}

const countAgents = `SELECT count(*) FROM agent WHERE tenant = ?`

// CountAgents returns the number of a tenant's agents.
func (d *Directory) CountAgents(ctx context.Context, tenant string) (n int64, err error) {
	err = d.db.Look(ctx, "count agents", tenant, countAgents, []any{tenant}, func(scan func(into ...any) error) error { return scan(&n) })
	return n, err
}
