package sim

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a case in a synctest bubble.
func run(t *testing.T, c Case, folder string) (w *world) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { w = play(c, &disks{folder: folder}) })
	return w
}

// report prints the broken promises of a case, and how to run it again.
func report(t *testing.T, w *world) {
	t.Helper()
	for i, f := range w.failures {
		if i == 5 {
			t.Errorf("… and %d more", len(w.failures)-i)
			break
		}
		t.Errorf("%s", f)
	}
	t.Errorf("play it again: BRAID_SIM_CASE='%s' go test -run TestCase -v ./test/sim", w.c)
}

// TestCase runs the case that the environment names, and prints its record.
func TestCase(t *testing.T) { //nolint:paralleltest // it is played alone
	name := os.Getenv("BRAID_SIM_CASE")
	if name == "" {
		t.Skip("BRAID_SIM_CASE names no case")
	}
	c, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	if scenarios[c.Scenario] == nil {
		t.Fatalf("there is no scenario %q; there are %s", c.Scenario, strings.Join(names(), ", "))
	}
	w := run(t, c, t.TempDir())
	t.Log(strings.Join(w.gate.story, "\n"))
	if len(w.failures) > 0 {
		report(t, w)
	}
}

// TestName checks that a case can be made from its name.
func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []Case{
		{Scenario: "text", Store: "memory", Seed: 3},
		{Scenario: "tools", Store: "sqlite", Seed: 1 << 60, Strikes: []Strike{{Commit, 2, CrashAfter}, {Publish, 17, Lose}}},
	} {
		if got, err := Parse(c.String()); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s is read as %s: %v", c, got, err)
		}
	}
	for _, name := range []string{"", "text/memory/1", "text/memory/x/", "text/memory/1/journal.commit:2", "text/memory/1/journal.commit:x:crash"} {
		if c, err := Parse(name); err == nil {
			t.Errorf("%q is read as %s", name, c)
		}
	}
}

// TestQuiet runs every scenario without a fault, and checks that the same seed gives the same
// record.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seedsQuiet() {
				c := Case{Scenario: name, Store: "memory", Seed: seed}
				w := run(t, c, "")
				if len(w.failures) > 0 {
					report(t, w)
					return
				}
				if again := run(t, c, ""); again.gate.hash != w.gate.hash {
					t.Fatalf("seed %d tells two stories:\n%s", seed, difference(w.gate.story, again.gate.story))
				}
			}
		})
	}
}

// difference shows where two records differ.
func difference(a, b []string) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			from := max(0, i-5)
			return strings.Join(a[from:min(i+3, len(a))], "\n") + "\n--- and\n" + strings.Join(b[from:min(i+3, len(b))], "\n")
		}
	}
	return "the second one is longer"
}

// seedsQuiet is the number of seeds without a fault.
func seedsQuiet() uint64 {
	if os.Getenv("BRAID_SIM_SEEDS") != "" {
		return 500
	}
	return 20
}
