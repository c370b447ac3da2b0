// Package live carries the events of a run from the driver that makes them to
// whoever watches, and holds the default that does it inside one process.
//
// A driver opens a [Publisher] and sends each event as it happens: the durable
// ones once they are committed, the live ones as the model and the tools speak.
// It never waits for anybody. A [Watcher] gets the events in order. One that
// comes later, or is too slow, gets a [Sync] instead of what it missed: the
// number up to which the journal has the durable events, and a [Snapshot] of each
// step in flight. So the bus keeps no history: what is durable is read from the
// journal, and what is not durable is said again whole.
//
// [Follow] puts the two together: every durable event once, in order, from any
// place in the log on, and the live ones where they belong.
//
// [Hub] is the bus inside one process. Package livetest is the contract in
// running form: every bus passes it.
package live
