// Package blobtest is the contract of [blob.Store] as a test suite. A store's own tests call [Run] and [Model].
//
// The suite's own tests run it against stores with planted bugs: the matching case must catch each bug.
package blobtest

import (
	"context"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/journal"
)

// Harness is one store under test, with what a test may do to it from outside. Cases that need a nil function are
// skipped.
type Harness struct {
	// Store is new and empty, and has no other user.
	Store blob.Store
	// Bytes returns how many bytes the store counts for a tenant.
	Bytes func(tenant string) int64
	// Pieces returns the number of stored pieces of all tenants, including unreachable ones.
	Pieces func() int
	// Damage changes the stored byte at an offset.
	Damage func(tenant string, digest blob.Digest, offset int64)
	// Journal contains the Store.
	Journal journal.Journal
	// Reopen closes the store and opens its data again, as after a crash.
	Reopen func() blob.Store
	// Later moves the store's clock by blob.UploadTime. It is nil if Reopen makes unfinished uploads garbage.
	Later func()
}

// Run tests a store against the contract, with one subtest per case. It calls open for each with the subtest's t.
// Cases run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newProbe(t, open(t)))
		})
	}
}

// testingT has the methods of *testing.T that a case needs. The small interface lets a test run the suite against
// broken stores without failing itself.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

type testCase struct {
	name string
	run  func(p *probe)
}

func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{putCases(), readCases(), refCases(), cutCases(), raceCases(), journalCases()} {
		all = append(all, group...)
	}
	return all
}
