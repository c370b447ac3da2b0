// Package live carries the events of a run from its driver to watchers. It holds the default bus,
// which works inside one process.
//
// A driver opens a [Publisher] and sends each event as it happens: durable events after their
// commit, live ones as models and tools produce them. It never waits for a watcher. A [Watcher]
// gets the events in order. If it comes later or is too slow, it gets a [Sync] instead of the
// missed events: the Seq up to which the journal has the durable events, and a [Snapshot] of each
// step in flight. So the bus keeps no history.
//
// [Follow] combines journal and bus: every durable event once, in order, from any place in the log
// on, and the live events between them.
//
// [Hub] is the bus inside one process. Package livetest is the contract of buses as tests.
package live
