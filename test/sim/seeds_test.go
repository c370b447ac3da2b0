package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/race"
)

// Every fault strikes every call of every seam of every scenario, under this seed. All other cases
// are random.
const tableSeed = 1

// quietCounts is the number of calls of each seam without faults.
func quietCounts(t *testing.T, scenario, store string) map[Seam]int {
	t.Helper()
	w := run(t, Case{Scenario: scenario, Store: store, Seed: tableSeed}, t.TempDir())
	if len(w.failures) > 0 {
		report(t, w)
	}
	return w.counts
}

// every lists a case for each call of each seam and each fault.
func every(scenario, store string, counts map[Seam]int) []Case {
	var list []Case
	for _, s := range seams {
		for k := 1; k <= counts[s]; k++ {
			for _, f := range faults[s] {
				list = append(list, Case{Scenario: scenario, Store: store, Seed: tableSeed, Strikes: []Strike{{s, k, f}}})
			}
		}
	}
	return list
}

// drawn makes a case from a number: one to three faults anywhere. If only is given, the first fault
// is of a kind in it.
func drawn(n uint64, store string, counts map[string]map[Seam]int, only ...Fault) Case {
	rng := rand.New(rand.NewPCG(n, 7))
	all := names()
	c := Case{Scenario: all[rng.IntN(len(all))], Store: store, Seed: n}
	var known []Seam
	for _, s := range seams {
		if counts[c.Scenario][s] > 0 {
			known = append(known, s)
		}
	}
	for i := range 1 + rng.IntN(3) {
		s := known[rng.IntN(len(known))]
		f := faults[s][rng.IntN(len(faults[s]))]
		if i == 0 && len(only) > 0 {
			f = only[rng.IntN(len(only))]
			for !slices.Contains(faults[s], f) {
				s = known[rng.IntN(len(known))]
			}
		}
		c.Strikes = append(c.Strikes, Strike{s, 1 + rng.IntN(counts[c.Scenario][s]), f})
	}
	return c
}

// battery runs cases on all cores and collects the results.
type battery struct {
	mu     sync.Mutex
	fired  map[string]map[Strike]bool
	cases  map[string]int
	struck int
	failed []*world
	turns  int
	// connections counts the watchers' connections, cuts those that were cut back to a snapshot.
	connections, cuts int
	// reopened counts the journals that were opened after a crash, crashed the cases with a crash.
	reopened, crashed int
}

func (b *battery) play(t *testing.T, cases []Case) {
	t.Helper()
	if b.fired == nil {
		b.fired, b.cases = map[string]map[Strike]bool{}, map[string]int{}
	}
	next := make(chan Case, len(cases))
	for _, c := range cases {
		next <- c
	}
	close(next)
	t.Run("cases", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				for c := range next {
					b.add(run(t, c, folder))
				}
			})
		}
	})
	slices.SortFunc(b.failed, func(x, y *world) int { return strings.Compare(x.c.String(), y.c.String()) })
	for i, w := range b.failed {
		if i == 200 {
			t.Errorf("… and %d more cases", len(b.failed)-i)
			break
		}
		report(t, w)
	}
}

func (b *battery) add(w *world) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cases[w.c.Scenario]++
	b.turns += w.gate.turns
	b.connections += w.record.connections
	b.cuts += w.record.cuts
	if again := len(w.disks.open) - 1; again > 0 {
		b.reopened += again
		b.crashed++
	}
	if b.fired[w.c.Scenario] == nil {
		b.fired[w.c.Scenario] = map[Strike]bool{}
	}
	for s := range w.fired {
		b.fired[w.c.Scenario][s] = true
		b.struck++
	}
	if len(w.failures) > 0 {
		b.failed = append(b.failed, w)
	}
}

// table prints the faults by call, and fails if a call of a seam was left out.
func (b *battery) table(t *testing.T, counts map[string]map[Seam]int) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%-15s %9s %7s  %s\n", "seam", "k", "struck", "faults")
	for _, s := range seams {
		most, struck := 0, 0
		for name, c := range counts {
			most = max(most, c[s])
			for k := 1; k <= c[s]; k++ {
				for _, f := range faults[s] {
					if b.fired[name][Strike{s, k, f}] {
						struck++
					} else {
						t.Errorf("a hole: %s was never struck by %s", name, Strike{s, k, f})
					}
				}
			}
		}
		list := make([]string, len(faults[s]))
		for i, f := range faults[s] {
			list[i] = string(f)
		}
		rangeOf := "-"
		if most > 0 {
			rangeOf = fmt.Sprintf("1..%d", most)
		}
		fmt.Fprintf(&out, "%-15s %9s %7d  %s\n", s, rangeOf, struck, strings.Join(list, " "))
	}
	total := 0
	for _, name := range names() {
		fmt.Fprintf(&out, "%-15s %d cases\n", name, b.cases[name])
		total += b.cases[name]
	}
	fmt.Fprintf(&out, "%d cases, %d faults, %d calls of seams; watchers connected %d times and were cut back %d times",
		total, b.struck, b.turns, b.connections, b.cuts)
	if b.cuts == 0 {
		t.Error("no watcher was ever cut back to a snapshot")
	}
	t.Log(out.String())
}

// seeds is the number of cases to run, fewer under the race detector.
func seeds(t *testing.T, byDefault, short int) int {
	t.Helper()
	if s := os.Getenv("BRAID_SIM_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("BRAID_SIM_SEEDS is no number: %v", err)
		}
		return n
	}
	if testing.Short() || race.On {
		return short
	}
	return byDefault
}

// TestMemory lets every fault strike every call of every seam, and then runs random cases until
// there are 16,500 in all. Under the race detector it runs a fiftieth of the table, a different one
// each time; make test-long runs all of it without the detector.
func TestMemory(t *testing.T) { //nolint:paralleltest // it keeps all cores busy by itself
	counts := map[string]map[Seam]int{}
	var cases []Case
	for _, name := range names() {
		counts[name] = quietCounts(t, name, "memory")
		if !testing.Short() {
			cases = append(cases, every(name, "memory", counts[name])...)
		}
	}
	if race.On {
		other := rand.IntN(50) // any fiftieth is as good
		few := cases[:0]
		for i, c := range cases {
			if i%50 == other {
				few = append(few, c)
			}
		}
		cases = few
	}
	systematic := len(cases)
	for n := uint64(1); len(cases) < seeds(t, 16_500, 250); n++ {
		cases = append(cases, drawn(n, "memory", counts))
	}
	var b battery
	began := time.Now()
	b.play(t, cases)
	took := time.Since(began)
	if !testing.Short() && !race.On {
		b.table(t, counts)
	}
	t.Logf("%d cases, %d of them by the table, in %v: %.0f/s", len(cases), systematic, took.Round(time.Second),
		float64(len(cases))/took.Seconds())
}

// filesVariable names the variable with the minimum number of cases of TestSQLite; make test runs
// fewer than 300.
const filesVariable = "BRAID_SIM_FILES"

// TestSQLite runs 300 cases with crashes on real files, which the next process opens as the crash
// left them: at every reading of a tail, and elsewhere. If the tail is shorter than the log, other
// faults strike its readings too.
func TestSQLite(t *testing.T) { //nolint:paralleltest // it keeps all cores busy by itself
	if race.On {
		t.Skip("make test plays it without the race detector")
	}
	counts := map[string]map[Seam]int{}
	var cases []Case
	crashes := 0
	for _, name := range names() {
		counts[name] = quietCounts(t, name, "sqlite")
		if counts[name][Tail] == 0 {
			t.Errorf("no conversation of %s is opened from its tail", name)
		}
		if !testing.Short() {
			for _, c := range every(name, "sqlite", map[Seam]int{Tail: counts[name][Tail]}) {
				if c.Strikes[0].Fault == Crash {
					crashes++
				} else if scenarios[name].setup == nil {
					continue
				}
				cases = append(cases, c)
			}
		}
	}
	systematic := len(cases)
	least := 300
	if n, err := strconv.Atoi(os.Getenv(filesVariable)); err == nil {
		least = n
	}
	// A few of them end before their crash.
	for n := uint64(1); crashes < seeds(t, least+25, 30); n++ {
		cases = append(cases, drawn(n, "sqlite", counts, Crash, CrashAfter))
		crashes++
	}
	var b battery
	began := time.Now()
	b.play(t, cases)
	took := time.Since(began)
	if !testing.Short() && b.crashed < least {
		t.Errorf("files were reopened after a crash in %d cases, want at least %d", b.crashed, least)
	}
	t.Logf("%d cases, %d of them by the table of tails, files reopened in %d of them, %d times, in %v: %.0f/s",
		len(cases), systematic, b.crashed, b.reopened, took.Round(time.Second), float64(len(cases))/took.Seconds())
}

// TestRepeats checks that a case gives the same record again, whatever strikes.
func TestRepeats(t *testing.T) { //nolint:paralleltest // it keeps all cores busy by itself
	counts := map[string]map[Seam]int{}
	for _, name := range names() {
		counts[name] = quietCounts(t, name, "memory")
	}
	for n := range uint64(seeds(t, 150, 50)) {
		c := drawn(1_000_000+n, "memory", counts)
		first, again := run(t, c, ""), run(t, c, "")
		if first.gate.hash != again.gate.hash {
			t.Fatalf("%s tells two stories:\n%s", c, difference(first.gate.story, again.gate.story))
		}
	}
}
