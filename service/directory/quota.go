package directory

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/database"
)

// Quota bounds what a tenant uses in all. In a tenant's entry a nil field means the server's default, and 0
// means no bound.
type Quota struct {
	// Requests bounds the requests in a minute, on each server.
	Requests *int64 `json:"requests_per_minute,omitempty"`
	// Running bounds the runs that each server drives at once.
	Running *int64 `json:"running_runs,omitempty"`
	// Queued bounds the runs that wait on each server.
	Queued *int64 `json:"queued_runs,omitempty"`
	// Conversations bounds the conversations that are kept, archived ones too.
	Conversations *int64 `json:"conversations,omitempty"`
	// Agents bounds the agents, inactive ones too.
	Agents *int64 `json:"agents,omitempty"`
	// Storage bounds the bytes that the tenant's conversations take.
	Storage *int64 `json:"stored_bytes,omitempty"`
	// Tokens bounds what the models read and write in a day, in UTC.
	Tokens *int64 `json:"tokens_per_day,omitempty"`
	// Cost bounds what model calls cost in a day, in UTC. A call whose price is not known costs nothing here.
	Cost *pricing.NanoUSD `json:"cost_per_day_usd,omitempty"`
}

// The defaults of a server.
const (
	DefaultRequests      = 6_000
	DefaultConversations = 1_000_000
	DefaultAgents        = 1_000
	DefaultStorage       = 10 << 30 // bytes
	DefaultTokens        = 500_000_000
	DefaultCost          = 1_000 // US dollars
)

// Or fills the fields that are nil with those of the defaults.
func (q Quota) Or(defaults Quota) Quota {
	orElse(&q.Requests, defaults.Requests)
	orElse(&q.Running, defaults.Running)
	orElse(&q.Queued, defaults.Queued)
	orElse(&q.Conversations, defaults.Conversations)
	orElse(&q.Agents, defaults.Agents)
	orElse(&q.Storage, defaults.Storage)
	orElse(&q.Tokens, defaults.Tokens)
	orElse(&q.Cost, defaults.Cost)
	return q
}

func orElse[N any](field **N, value *N) {
	if *field == nil {
		*field = value
	}
}

// Bound is the value of a field of a [Quota]; 0 is no bound.
func Bound[N int64 | pricing.NanoUSD](field *N) N {
	if field == nil {
		return 0
	}
	return *field
}

// check refuses bounds that nobody can mean.
func (q Quota) check(c *checker) {
	for _, field := range []*int64{q.Requests, q.Running, q.Queued, q.Conversations, q.Agents, q.Storage, q.Tokens} {
		c.want(Bound(field) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	}
	c.want(Bound(q.Cost) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	for _, field := range []*int64{q.Running, q.Queued} {
		c.want(field == nil || *field > 0, "a quota of runs is 0", "use a number from 1, or null for the server's default")
	}
}

// Quota gives what bounds a tenant now: its own quota, and the server's defaults for the rest. It also gives the
// tenant's life: what is counted for a tenant is bound to it. The tenant may be inactive.
func (d *Directory) Quota(ctx context.Context, tenant string) (q Quota, life string, err error) {
	t, err := lookup(ctx, d, &d.tenants, tenant, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, tenant) })
	return t.Quota.Or(d.quota), t.Life, err
}

// RunQuota is the part of [Directory.Quota] that an engine needs. It never waits: of a tenant that this process has
// not asked for yet it gives the defaults.
func (d *Directory) RunQuota(tenant string) (running, queued int) {
	d.tenants.mu.RLock()
	q := d.tenants.kept[tenant].value.Quota.Or(d.quota)
	d.tenants.mu.RUnlock()
	return int(min(Bound(q.Running), mostRuns)), int(min(Bound(q.Queued), mostRuns))
}

// mostRuns is more runs than a server can have.
const mostRuns = 1 << 30

// Use is how much of its quota a tenant uses.
type Use struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	Storage       int64 `json:"stored_bytes"`
	// Tokens and Cost are of today, in UTC.
	Tokens int64           `json:"tokens_today"`
	Cost   pricing.NanoUSD `json:"cost_today_usd"`
}

// quotaRetry is when a request is worth repeating that was refused because too much is kept.
const quotaRetry = time.Minute

// OverQuota is the error for a tenant that keeps as much as it may. The code says what.
func OverQuota(op, code, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrQuota, Code: code, Message: message, Hint: hint, RetryAfter: quotaRetry}
}

// roomForAgent refuses the transaction's new agent where the tenant has too many with it.
func (d *Directory) roomForAgent(tx *database.Tx, op string, t *Tenant) error {
	most := Bound(t.Quota.Or(d.quota).Agents)
	if most == 0 {
		return nil
	}
	var n int64
	if _, err := tx.Get(countAgents, []any{t.ID}, &n); err != nil || n <= most {
		return err
	}
	return OverQuota(op, "QUOTA_AGENTS", "the tenant has "+strconv.FormatInt(most, 10)+" agents, which is as many as it may",
		"change one that is there, or ask the operator of this service for more")
}

const countAgents = `SELECT count(*) FROM agent WHERE tenant = ?`

// CountAgents says how many agents a tenant has.
func (d *Directory) CountAgents(ctx context.Context, tenant string) (n int64, err error) {
	err = d.db.Look(ctx, "count agents", tenant, countAgents, []any{tenant}, func(scan func(into ...any) error) error { return scan(&n) })
	return n, err
}
