// Package blobtest is the contract of [blob.Store] in running form. A store's own tests call [Run] and [Model].
//
// The cases are proven against stores with planted bugs: each bug is caught by the case that is about it.
package blobtest

import (
	"context"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/journal"
)

// Harness is one store under test, and what a test may do to it from outside. Cases are skipped if they need a
// function that is nil.
type Harness struct {
	// Store is new and empty, and nobody else uses it.
	Store blob.Store
	// Bytes returns how many bytes the store counts for a tenant.
	Bytes func(tenant string) int64
	// Pieces returns how many pieces are stored of all tenants, also those that cannot be reached.
	Pieces func() int
	// Damage changes the stored byte at an offset.
	Damage func(tenant string, digest blob.Digest, offset int64)
	// Journal has the Store in it.
	Journal journal.Journal
	// Reopen closes the store and opens what it wrote, as after a crash.
	Reopen func() blob.Store
	// Later moves the store's clock by blob.UploadTime. It is nil if Reopen makes unfinished uploads garbage.
	Later func()
}

// Run tests a store against the contract, one subtest a case. open is called for each of them with the subtest's t;
// cases run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newProbe(t, open(t)))
		})
	}
}

// testingT is what a case needs of *testing.T. With so little the suite can be run against broken stores without
// failing itself.
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
