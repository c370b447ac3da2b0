// Package journaltest is the contract of [journal.Journal] in running form. A
// store's own tests call [Run]; what passes can stand under the loop.
//
// The cases compare values, never pointers, so a store may encode what it keeps. They are proven against
// stores with planted bugs: each bug is caught by the case that is about it.
package journaltest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
)

// Harness is one store under test, and what a test may do to it from outside.
type Harness struct {
	// Store is new and empty, and nobody else uses it.
	Store journal.Journal
	// Term is how long its leases last; 0 means [journal.DefaultTerm].
	Term time.Duration
	// Advance moves the store's clock forward. Where it is nil, the cases that
	// let time pass are skipped.
	Advance func(time.Duration)
	// Reopen closes the store and opens what it wrote, as after a crash. Where
	// it is nil, the cases about durability are skipped.
	Reopen func() journal.Journal
}

// Run holds a store against the contract, one subtest a case. open is called
// for each of them with the subtest's t; cases run in parallel.
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

// testingT is what a case needs of *testing.T. That it is so little lets the
// suite be run against broken stores without failing itself.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// group is the cases about one idea.
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
