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
package directory
