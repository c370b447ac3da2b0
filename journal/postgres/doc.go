// Package postgres keeps the journal in a PostgreSQL database: the store of any
// number of processes that serve the same tenants.
//
// # What it promises
//
// What a call has acknowledged survives a crash of the process and of the database.
// Renewing a lease, and giving one back without anything else, need no such care and
// do not wait for the disk: a crash may end the lease earlier. Leases run on the
// database's clock; epochs fence, whatever clocks do.
//
// A store whose database goes away answers [event.ErrUnavailable], and works again by
// itself once it is back. Whoever asks for something waits at most for a connection
// as long as it likes (ctx), and then for [Options] Patience for each statement.
//
// # Tenants
//
// Each transaction names one tenant and sees the rows of no other: row-level security
// is forced on every table, and the role that a [Store] logs in as can neither bypass it
// nor own the tables; [Open] refuses one that could. Where the seam gives an id and no
// tenant, a function of the owner's says whose it is, and nothing else. One more lists
// what is due, of all tenants.
//
// So there are two roles. The owner migrates ([Migrate]); the stores' role is made
// by the operator beforehand and gets its rights from that.
//
// # How it writes
//
// A transaction locks the conversation's row, looks at the fence, and writes: two round
// trips, and none is open while anybody thinks. All of a commit's events stand
// in one row. The schema is in the folder migrations.
package postgres
