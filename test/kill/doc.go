// Package kill kills real processes. Its tests build the command braid with the changes of
// package instrument and let it drive runs whose tools act on an external ledger. They kill it
// again and again (at named points, in the middle of a call, at random) and restart it on the
// same folder. At the end they compare the ledger with the journal: see [check].
//
// In one test, tools and logs end their process themselves, some always, and the test continues
// the failed runs.
//
//	go test ./test/kill                                  1,000 kills
//	BRAID_KILLS=10000 go test -timeout 30m ./test/kill   10,000 kills
//	BRAID_KILL_SEED=7 go test ./test/kill                the same plans again
//
// A new point is a new edit with failpoint.Hit("room/what") in test/instrument. The tests find it
// by reading the source.
package kill
