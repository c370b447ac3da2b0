// Package livetest is the contract of [live.Bus] as tests. A bus's own tests call [Run].
//
// The cases use only the interfaces. To check that something does not arrive, they publish a mark
// after it and check that the mark arrives without it. So a slow bus on a network passes too.
package livetest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/live"
)

// Harness is a bus under test.
type Harness struct {
	// Bus is a new bus that nobody else uses. The suite closes it.
	Bus live.Bus
	// Unread is a number of small events after which a watcher that reads none is surely cut off. 0
	// means twice [live.DefaultEvents].
	Unread int
	// Patience is how long a case waits for an expected item. 0 means a minute.
	Patience time.Duration
}

// Run tests a bus against the contract, with one subtest for each case. It calls open with the
// subtest's t. Cases run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					play(t, c, open(t))
				})
			}
		})
	}
}

// play runs one case.
func play(t testingT, c testCase, h Harness) {
	p := newProbe(t, h)
	defer p.end()
	c.run(p)
}

// testingT is what a case needs of *testing.T. It is small, so that tests can run the suite against
// broken buses.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// group holds the cases about one subject.
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
		{"order", orderCases()},
		{"snapshot", snapshotCases()},
		{"stale", staleCases()},
		{"hole", holeCases()},
		{"slow", slowCases()},
		{"close", closeCases()},
		{"race", raceCases()},
	}
}
