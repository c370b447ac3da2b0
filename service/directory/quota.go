package directory

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/database"
)

// Quota bounds a tenant's total use. In a tenant's entry a nil field means the server's default,
// and 0 means no bound.
type Quota struct {
	// Requests bounds the requests per minute on each server.
	Requests *int64 `json:"requests_per_minute,omitempty"`
	// Running bounds the runs that each server drives at once.
	Running *int64 `json:"running_runs,omitempty"`
	// Queued bounds the runs that are queued on each server.
	Queued *int64 `json:"queued_runs,omitempty"`
	// Conversations bounds the number of conversations, including archived ones.
	Conversations *int64 `json:"conversations,omitempty"`
	// Agents bounds the number of agents, including inactive ones.
	Agents *int64 `json:"agents,omitempty"`
	// Storage bounds the size of the tenant's conversations in bytes.
	Storage *int64 `json:"stored_bytes,omitempty"`
	// Tokens bounds the models' input and output tokens per day in UTC.
	Tokens *int64 `json:"tokens_per_day,omitempty"`
	// Cost bounds the cost of model calls per day in UTC. A call with an unknown price counts as
	// free.
	Cost *pricing.NanoUSD `json:"cost_per_day_usd,omitempty"`
}

// These are the defaults of a server.
const (
	DefaultRequests      = 6_000
	DefaultConversations = 1_000_000
	DefaultAgents        = 1_000
	DefaultStorage       = 10 << 30 // bytes
	DefaultTokens        = 500_000_000
	DefaultCost          = 1_000 // US dollars
)

// Or fills the nil fields with the defaults.
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

// Bound returns the value of a field of a [Quota]. 0 means no bound.
func Bound[N int64 | pricing.NanoUSD](field *N) N {
	if field == nil {
		return 0
	}
	return *field
}

// check refuses bounds that make no sense.
func (q Quota) check(c *checker) {
	for _, field := range []*int64{q.Requests, q.Running, q.Queued, q.Conversations, q.Agents, q.Storage, q.Tokens} {
		c.want(Bound(field) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	}
	c.want(Bound(q.Cost) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	for _, field := range []*int64{q.Running, q.Queued} {
		c.want(field == nil || *field > 0, "a quota of runs is 0", "use a number from 1, or null for the server's default")
	}
}

// Quota returns a tenant's current quota, with the server's defaults for unset fields. It also
// returns the tenant's life, to which all counts are bound. The tenant may be inactive.
func (d *Directory) Quota(ctx context.Context, tenant string) (q Quota, life string, err error) {
	t, err := lookup(ctx, d, &d.tenants, tenant, func(ctx context.Context) (Tenant, error) { return d.GetTenant(ctx, tenant) })
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

// Use is how much of its quota a tenant uses.
type Use struct {
	Conversations int64 `json:"conversations"`
	Agents        int64 `json:"agents"`
	Storage       int64 `json:"stored_bytes"`
	// Tokens is today's use in UTC.
	Tokens int64           `json:"tokens_today"`
	Cost   pricing.NanoUSD `json:"cost_today_usd"`
}

// quotaRetry is the RetryAfter for a tenant that stores too much.
const quotaRetry = time.Minute

// OverQuota returns the error for a tenant that stores as much as it may. code says what.
func OverQuota(op, code, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrQuota, Code: code, Message: message, Hint: hint, RetryAfter: quotaRetry}
}

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
