// Package engine decides which run is driven next, and when: a queue that is fair
// between tenants, timers, wake-ups, and what was left over when a process ended.
// It holds the seam, [Engine], and the engine inside one process, [Local].
//
// The journal is the truth, the engine only asks for a run to be driven. What it
// keeps in memory may be lost at any moment: a queued run is a row in the
// journal, so is a waiting one, and [journal.Store.Due] says which of them somebody
// has to take. The engine may therefore ask once too often, and never
// once too seldom: the journal's lease keeps two drivers apart, and a run that
// is driven without need parks again.
//
// It knows no agents: what driving means is a function that it is given.
//
// Package enginetest is the contract in running form: every engine passes it.
package engine
