// Package mutation proves that the tests named in docs/seeds.md can fail. Each mutation breaks what
// one or several rows state, and the tests that these rows name must notice. It does the same for the
// rows of docs/guide/strands.md that say "the same": testdata/strands.txt names such a row by its first
// cell, in a line "@ NAME | FOLDER | CELL".
//
// Mutations are in testdata, one file for each seed. Each begins with a line "@ ROWS | FOLDER". The
// lines up to "=>" occur once in that folder, outside tests; the lines below replace them. There
// BROKEN is true when the mutation is on. The first row names the mutation. Several mutations of one
// first row have a suffix: S2.46, S2.46_b.
//
// All mutations that fit together are compiled into the test binaries once; an environment variable
// turns one on. See [instrument] for how.
//
// BRAID_MUTATIONS=all go test -v -timeout=60m ./test/mutation breaks everything. A regular expression
// instead of "all" selects names of mutations. Results are kept in bin/_mutations, and a mutation is
// tried again only when the binary of its tests has changed.
//
// [instrument]: https://pkg.go.dev/github.com/braidrun/braid/test/instrument
package mutation
