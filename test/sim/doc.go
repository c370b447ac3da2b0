// Package sim runs whole conversations in one process, on a simulated clock, and injects faults
// everywhere.
//
// The components are the real ones: agents, their driver, the engine in process, the hub, the
// journal in memory or in SQLite files. The seams between them are wrapped: each call of a seam
// waits at a gate. When all goroutines wait, the seed chooses one to continue. So a seed
// determines the whole history and reproduces it.
//
// A [Case] is a scenario, a seed and its faults: each strikes at the k-th call of a seam. A
// process that crashes stops at its next call of a seam, and another process replaces it on the
// same journal. The simulated outside world records every effect, and clients follow the events
// that they are shown. At the end a checker compares the record with the journal, and reports
// each violation with the broken promise.
//
// A failure prints its case. To run it alone with its history:
//
//	BRAID_SIM_CASE='text/memory/1/journal.commit:2:crash' go test -run TestCase -v ./test/sim
//
// BRAID_SIM_SEEDS=100000 runs more cases than the ordinary test, -short fewer.
//
// The promises are P1 to P11 and P14 to P16 of the failure model. "poison" means that a run whose
// calls end their processes is ended, and no run with progress is. "messages" means that each
// accepted message is shown to the model once and in order, from one call on. Planted bugs prove
// that the checker finds violations; each names the promise that it breaks:
//
//	go test -tags planted -run Planted ./test/sim
package sim
