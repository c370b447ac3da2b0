// Package postgres stores the journal in a PostgreSQL database, for any number of processes that serve the same tenants.
//
// # Promises
//
// A call that has returned survives a crash of the process and of the database. Renewing a lease, and giving one back without
// anything else, do not wait for the disk: a crash may end the lease earlier. Leases use the database's clock. Epochs fence
// off old drivers, whatever the clocks do.
//
// If the database goes away, calls return [event.ErrUnavailable]. The store works again by itself once the database is back. A call
// waits for a connection as long as its ctx allows, and then for [Options].Patience for each statement.
//
// # Tenants
//
// Each transaction names one tenant and sees no other tenant's rows: row-level security is forced on every table. The
// role of a [Store] can neither bypass it nor own the tables, and [Open] refuses a role that could. Some calls have an id
// and no tenant. A function of the owner returns the tenant of an id and nothing else. Other functions of the owner list what is due,
// and which tenants have garbage, across tenants.
//
// So there are two roles. The owner migrates ([Migrate]). The operator creates the stores' role beforehand, and
// Migrate gives it its rights.
//
// # How it writes
//
// A transaction locks the conversation's row, checks the fence and writes, in two round trips. None stays open while
// a model or a tool works. A commit's events are one row. The schema is in the folder migrations.
package postgres
