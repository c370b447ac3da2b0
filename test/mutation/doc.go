// Package mutation proves that the tests named in docs/seeds.md can fail. Each mutation breaks what
// one or several rows state, and the tests that these rows name must notice.
//
// Mutations are in seed1.go to seed5.go. All that fit together are compiled into the test binaries
// once; an environment variable turns one on. See [instrument] for how.
//
// BRAID_MUTATIONS=all go test -v -timeout=60m ./test/mutation breaks everything. A regular expression
// instead of "all" selects names of mutations. Results are kept in bin/_mutations, and a mutation is
// tried again only when the binary of its tests has changed.
//
// [instrument]: https://pkg.go.dev/github.com/braidrun/braid/test/instrument
package mutation
