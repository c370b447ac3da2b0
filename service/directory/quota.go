package directory

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
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
