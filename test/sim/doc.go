// Package sim plays whole conversations in one process, on a simulated clock, and
// lets everything go wrong that may go wrong.
//
// The parts are the real ones: agents, their driver, the engine in process, the
// hub, the journal in memory or in SQLite files. What stands between them is
// wrapped: each call of a seam waits at a gate, and when everything waits, one is
// let through, chosen by the seed. So a seed tells the whole story, and the same
// seed tells it again.
//
// A [Case] is a scenario, a seed and what strikes where: a fault at the k-th call
// of a seam. A process that crashes stands still for ever at its next call of a seam,
// and another one takes its place on the same journal. The world outside writes
// down every effect, and clients follow what they are shown. In the end one checker
// holds all of it against the journal and names each violation by the promise
// that it breaks.
//
// A failure prints its case. To play it alone, with its story:
//
//	BRAID_SIM_CASE='text/memory/1/journal.commit:2:crash' go test -run TestCase -v ./test/sim
//
// BRAID_SIM_SEEDS=100000 plays more of them than the ordinary test does, -short fewer.
//
// The promises are P1 to P11, P14 to P16 of the failure model, "poison": a run whose calls end
// their processes is ended, and no run that gets on is, and "messages": each
// message that was accepted is shown to the model from one call on, once and in
// order. That the checker finds what breaks them is shown by bugs that are planted in
// the rooms behind a build tag, each with the promise that it must be called by:
//
//	go test -tags planted -run Planted ./test/sim
package sim
