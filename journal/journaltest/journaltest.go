// Package journaltest is the contract of [journal.Journal] as a test suite. A store's own tests call [Run]; a store
// that passes works with the driver.
//
// The cases compare values, never pointers, so a store may encode what it keeps. The suite's own tests run it against
// stores with planted bugs: the matching case must catch each bug.
package journaltest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
)

// Harness is one store under test, with what a test may do to it from outside.
type Harness struct {
	// Store is new and empty, and has no other user.
	Store journal.Journal
	// Term is the duration of its leases; 0 means [journal.DefaultTerm].
	Term time.Duration
	// Advance moves the store's clock forward. If it is nil, cases that need time to pass are skipped.
	Advance func(time.Duration)
	// Reopen closes the store and opens its data again, as after a crash. If it is nil, cases about durability are
	// skipped.
	Reopen func() journal.Journal
	// NoFolds is set for a store without stored folds; see [journal.Store].StoreFold.
	NoFolds bool
}

// Run tests a store against the contract, with one subtest per case. It calls open for each with the subtest's t.
// Cases run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newProbe(t, open(t)))
				})
			}
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

// group holds the cases about one idea.
type group struct {
	name  string
	cases []testCase
}

type testCase struct {
	name string
	run  func(p *probe)
}

func groups() []group {
	return []group{
		{"admit", admitCases()},
		{"alone", aloneCases()},
		{"begin", beginCases()},
		{"session", sessionCases()},
		{"weigh", weighCases()},
		{"storage", storageCases()},
		{"acquire", acquireCases()},
		{"commit", commitCases()},
		{"steps", stepCases()},
		{"repeat", repeatCases()},
		{"lease", leaseCases()},
		{"lost", lostCases()},
		{"inbox", inboxCases()},
		{"news", newsCases()},
		{"left", leftCases()},
		{"state", stateCases()},
		{"erase", eraseCases()},
		{"folds", foldCases()},
		{"read", readCases()},
		{"due", dueCases()},
		{"list", listCases()},
		{"find", findCases()},
		{"tell", tellCases()},
		{"remove", removeCases()},
		{"ledger", ledgerCases()},
		{"messages", messageCases()},
		{"context", contextCases()},
		{"race", raceCases()},
		{"reopen", reopenCases()},
	}
}
