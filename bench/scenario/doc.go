// Package scenario holds the pieces of work that Braid is timed on, each in two
// forms that do the same: one by hand on package floor and one on Braid. The
// command in package bench and the benchmarks beside it share them, and a test
// holds that both forms give the reader the same deltas, calls, results and text.
package scenario
