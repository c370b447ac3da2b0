// Package directory knows who there is: tenants, their agents, models and keys, and who
// changed what.
//
// [Directory] is all of it, over a [database.DB]. Every change takes who makes it
// ([By]) and writes an entry of the tenant's audit in the same transaction. Everything
// that can be changed has a revision: who names the one that he has read is refused
// where somebody was faster.
//
// What a run or a request needs ([Directory.Authenticate], [Directory.Tenant],
// [Directory.Agent], [Directory.Model]) comes from memory, which is at most [Stale] old where
// other processes write the same database, and never old where they do not.
//
// Ids of tenants, agents and models are slugs: small letters, digits and hyphens,
// at most 63, and no hyphen first.
package directory
