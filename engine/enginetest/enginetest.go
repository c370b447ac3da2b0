// Package enginetest is the contract of [engine.Engine] in running form. An
// engine's own tests call [Run]; what passes can drive what a service admits.
//
// The suite brings the journal and the drive: a driver of its own that takes
// leases, writes events and does what each case wants of it. An engine that
// takes its time is held to the same as one that does not; what must happen is
// waited for, and what must not is looked for after something later has happened.
package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
)

// Setup is what a case wants of an engine.
type Setup struct {
	// Store is the journal, Drive what drives its runs.
	Store journal.Store
	Drive engine.Drive
	// Running and TenantRunning are how many runs may be driven at once, in all
	// and of one tenant; Backlog and TenantBacklog how many may be queued.
	Running, TenantRunning int
	Backlog, TenantBacklog int
	// Grace is how long a drain waits for drives to hand their runs back.
	Grace time.Duration
}

// Harness says how an engine is made and under which clock it is tried.
type Harness struct {
	// Open makes an engine that has not been started. The suite starts and drains
	// it; a case may open several over one store, one after another.
	Open func(t TB, s Setup) engine.Engine
	// Around runs a case, for example in the bubble of testing/synctest; nil runs
	// it as it is.
	Around func(t *testing.T, run func(t *testing.T))
	// Patience is how long a case waits for what must come; 0 means 30 s.
	Patience time.Duration
}

// TB is what a case needs of *testing.T. That it is so little lets the suite be
// run against broken engines without failing itself.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run holds an engine against the contract, one subtest a case. Cases run in
// parallel.
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
