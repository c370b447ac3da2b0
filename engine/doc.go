// Package engine decides which run is driven next, and when: a queue that is fair between tenants,
// timers, wake-ups, and the runs that a dead process left. It holds the interface [Engine] and its
// implementation inside one process, [Local].
//
// The journal is the source of truth. The engine's memory may be lost at any time: queued and
// waiting runs are rows in the journal, and [journal.Store.Due] returns those that need a driver.
// So the engine may drive a run too often, but never too rarely: the journal's lease keeps two
// drivers apart, and a run that is driven without need parks again.
//
// The engine knows no agents: driving is a function that it is given.
//
// Package enginetest is the contract of engines as tests.
package engine
