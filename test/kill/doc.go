// Package kill kills real processes. Its tests build the command braid with the
// changes of package instrument, have it drive runs whose tools act on a ledger outside, kill
// it again and again (at named instants, in the middle of a call, at random),
// start it again on the same folder each time, and at the end hold the ledger
// against the journal: see [check].
//
// In a world of its own, tools and logs end their process by themselves, some always, and runs that failed are continued.
//
//	go test ./test/kill                                  1,000 kills
//	BRAID_KILLS=10000 go test -timeout 30m ./test/kill   10,000 kills
//	BRAID_KILL_SEED=7 go test ./test/kill                the same plans again
//
// A new point is a new edit with failpoint.Hit("room/what") in test/instrument; the
// tests find it by reading the source.
package kill
