// Package directory has the tenants of a server, with their agents, models and keys, and the audit
// of every change.
//
// [Directory] provides all of it over a [database.DB]. Every change names its author ([By]) and
// writes an entry of the tenant's audit in the same transaction. Every changeable object has a
// revision: an update with an old revision is refused.
//
// The data that runs and requests need ([Directory.Authenticate], [Directory.Tenant],
// [Directory.Agent], [Directory.Model]) comes from a cache. It is at most [Stale] old if other
// processes write the same database, and never old otherwise.
//
// Ids of tenants, agents and models are slugs: lower-case letters, digits and hyphens, at most 63
// characters, not starting with a hyphen.
//
// A file uses files of its own layer and of those below it:
//
//   - Data: tenant.go, agent.go, model.go, key.go, settings.go, quota.go, scope.go, by.go.
//   - What checks the data (check.go, check_settings.go, policy_settings.go, model_authority.go) and
//     what reads and writes it in a transaction (the files *_row.go, audit.go, idempotency.go,
//     nested.go, referrer.go, in_use.go, page.go). None of it has a [Directory].
//   - What a Directory holds in memory: cache.go, changes.go, watches.go, refusals.go, uses.go.
//   - [Directory]: tenants.go, agents.go, models.go, keys.go and the others answer requests.
package directory
