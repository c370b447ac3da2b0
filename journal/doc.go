// Package journal defines the store of conversations, runs and events, and has one in memory.
//
// A conversation is one log of events with a dense Seq. A run is admitted with its input, acquired by one driver at a
// time, and written by that driver alone: each [Store.Commit] is conditional on the lease's epoch and on the last Seq.
// All others leave [Mail]. A driver needs [Store] only, so a test can delay, repeat or crash each call. A server also
// needs [Catalog] and [Ledger]. Bytes that are no events are blobs; see [Journal].
//
// Package journaltest holds the contract that every store passes.
package journal
