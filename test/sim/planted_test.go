//go:build planted

package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/test/instrument/planted"
)

// bugs are the bugs that can be planted, each with the promise that it breaks. The search starts at the
// given case and goes through all: some bugs show in few cases.
var bugs = []struct {
	name, promise string
	begin         int
}{
	{"acknowledged before it is written", "P1", 0},
	{"tool run twice", "P2", 0},
	{"straggler of the same epoch accepted", "P2", 0},
	{"run before commit", "P3", 0},
	{"asked taken for begun", "P3", 0},
	{"no epoch check", "P4", 0},
	{"renewal after loss", "P4", 0},
	{"an answer that takes the epoch", "P4", 0},
	{"send before commit", "P5", 0},
	{"replay off by one", "P5", 0},
	{"piece of what is over", "P6", 4000},
	{"no look at the journal", "P7", 0},
	{"dead driver's run forgotten", "P8", 0},
	{"lost wake-up", "P9", 0},
	{"cancelled in memory alone", "P9", 460},
	{"usage twice", "P10", 0},
	{"answer accepted twice", "P11", 0},
	{"handed back in the middle of a step", "P14", 0},
	{"a lease without an end", "P15", 0},
	{"deadly run driven for ever", "poison", 0},
	{"continued from the beginning", "P16", 0},
	{"message lost", "messages", 0},
	{"message twice", "messages", 0},
}

// TestPlanted plants one bug after the other and checks that the first case with findings names the
// promise that the bug breaks.
func TestPlanted(t *testing.T) { //nolint:paralleltest // one bug at a time
	const most = 12_000
	counts := map[string]map[Seam]int{}
	for _, name := range names() {
		counts[name] = quietCounts(t, name, "memory")
	}
	// The kinds of cases alternate, so that most bugs are found early.
	var cases []Case
	for n := uint64(0); len(cases) < most; n++ {
		if n < 100 {
			for _, name := range names() {
				cases = append(cases, Case{Scenario: name, Store: "memory", Seed: n})
			}
		}
		for i := 10 * n; i < 10*n+10; i++ {
			cases = append(cases, drawn(i+1, "memory", counts))
			if i < 2000 { // a cancellation must be quick only without other faults
				cases = append(cases, Case{Scenario: "cancel", Store: "memory", Seed: 100 + i})
			}
		}
	}
	defer planted.Plant("")
	for _, bug := range bugs {
		t.Run(strings.ReplaceAll(bug.name, " ", "-"), func(t *testing.T) {
			planted.Plant(bug.name)
			for i := range cases {
				c := cases[(bug.begin+i)%len(cases)]
				w := run(t, c, "")
				if len(w.failures) == 0 {
					continue
				}
				if !slices.ContainsFunc(w.failures, func(f failure) bool { return f.promise == bug.promise }) {
					t.Errorf("case %d, %s, is not called %s:", i+1, c, bug.promise)
					report(t, w)
					return
				}
				t.Logf("case %d, %s: %s", i+1, c, w.failures[0])
				return
			}
			t.Errorf("nothing was found in %d cases", len(cases))
		})
	}
}
