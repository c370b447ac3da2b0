// Package journal is the seam to the store of conversations, runs and events,
// and holds the store in memory.
//
// A conversation is one log of events with a dense Seq. A run is admitted
// with its input, acquired by one driver at a time, and written by that driver
// alone: each [Store.Commit] is conditional on the lease's epoch and on the last
// Seq. Everybody else leaves [Mail]. [Store] is all that a driver
// needs, so that a test can delay, repeat or crash each call; [Catalog] and [Ledger] are what a server
// needs beside it.
//
// Package journaltest is the contract in running form: every store passes it.
package journal
