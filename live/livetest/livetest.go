// Package livetest is the contract of [live.Bus] in running form. A bus's own
// tests call [Run]; what passes can stand between drivers and watchers.
//
// The cases ask through the interfaces only. Where something must not arrive,
// they publish a mark after it and look that the mark comes without it, so a bus
// that takes its time on a network is held to the same.
package livetest

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid/live"
)

// Harness is one bus under test.
type Harness struct {
	// Bus is new, and nobody else uses it. The suite closes it.
	Bus live.Bus
	// Unread is a number of small events after which a watcher that reads none
	// of them has been cut off for certain; 0 means twice [live.DefaultEvents].
	Unread int
	// Patience is how long a case waits for what must come; 0 means a minute.
	Patience time.Duration
}

// Run holds a bus against the contract, one subtest a case. open is called for
// each of them with the subtest's t; cases run in parallel.
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

// testingT is what a case needs of *testing.T. That it is so little lets the
// suite be run against broken buses without failing itself.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
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
		{"order", orderCases()},
		{"snapshot", snapshotCases()},
		{"stale", staleCases()},
		{"hole", holeCases()},
		{"slow", slowCases()},
		{"close", closeCases()},
		{"race", raceCases()},
	}
}
