// Package planted turns on one bug at a time in code that [instrument] has changed, so that tests can
// show that they find it.
//
// [instrument]: https://pkg.go.dev/github.com/braidrun/braid/test/instrument
package planted
