// Package enginetest is the contract of [engine.Engine] as tests. An engine's own tests call [Run].
//
// The suite brings the journal and the driver: it acquires leases, writes events and does what each
// case wants. A slow engine passes too: the suite waits for what must happen, and checks what must
// not happen after something later has happened.
package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
)

// Setup is what a case needs of an engine.
type Setup struct {
	// Store is the journal.
	Store journal.Store
	// Drive drives its runs.
	Drive engine.Drive
	// Running is how many runs may be driven at once in total, TenantRunning of one tenant.
	Running, TenantRunning int
	// Backlog is how many runs may be queued in total, TenantBacklog of one tenant.
	Backlog, TenantBacklog int
	// Grace is how long a drain waits for drives to release their runs.
	Grace time.Duration
}

// Harness says how the suite opens an engine, and with which clock.
type Harness struct {
	// Open returns an engine that is not started. The suite starts and drains it. A case may open
	// several engines over one store, one after another.
	Open func(t TB, s Setup) engine.Engine
	// Around runs a case, for example in the bubble of testing/synctest. nil calls it directly.
	Around func(t *testing.T, run func(t *testing.T))
	// Patience is how long a case waits for an expected event. 0 means 30 s.
	Patience time.Duration
}

// TB is what a case needs of *testing.T. It is small, so that tests can run the suite against
// broken engines.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run tests an engine against the contract, with one subtest for each case. Cases run in parallel.
func Run(t *testing.T, h Harness) {
	t.Helper()
	around := h.Around
	if around == nil {
		around = func(t *testing.T, run func(t *testing.T)) { t.Helper(); run(t) }
	}
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					around(t, func(t *testing.T) { play(t, c, h) })
				})
			}
		})
	}
}

// play runs one case.
func play(t TB, c testCase, h Harness) {
	p := newProbe(t, h)
	defer p.end()
	c.run(p)
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
		{"submit", submitCases()},
		{"order", orderCases()},
		{"wait", waitCases()},
		{"left", leftCases()},
		{"cancel", cancelCases()},
		{"start", startCases()},
		{"trouble", troubleCases()},
		{"drain", drainCases()},
		{"bounds", boundCases()},
	}
}
