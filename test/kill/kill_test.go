//go:build unix

package kill

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/test/instrument"
)

// buildFlags are the flags for building the command, together with the overlay of package
// instrument: failpoints, and bugs that a test can turn on. make test uses the same flags without
// the race detector, so that nothing is compiled twice.
var buildFlags = []string{"-trimpath", "-tags=planted"}

// programVariable names the package of another program to kill, such as ../../cmd/braid.
const programVariable = "BRAID_KILL_PROGRAM"

// binary is the program to kill, built once for all tests of the package.
var binary = sync.OnceValues(func() (string, error) {
	overlay, err := instrument.Overlay("../..", filepath.Join(binaryDir, "overlay"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(binaryDir, "braid")
	program := cmp.Or(os.Getenv(programVariable), "./killed")
	out, err := exec.Command("go", append(append([]string{"build", "-overlay", overlay}, buildFlags...), "-o", path, program)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the program cannot be built: %w\n%s", err, out)
	}
	return path, nil
})

var binaryDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "braid-kill")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// points finds the failpoints in the source.
func points(t *testing.T) []string {
	t.Helper()
	hit := regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "../.." || d.Name() == "bin" || d.Name() == "testdata"):
			if path == "../.." {
				return nil
			}
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "doc.go":
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range hit.FindAllSubmatch(source, -1) {
			found[string(m[1])] = true
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no named instants: %v", err)
	}
	return slices.Sorted(maps.Keys(found))
}

// number reads a whole number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// perWorld is the number of processes that die on one folder.
const perWorld = 125

// Processes die, and nothing is lost, repeated or hidden. BRAID_KILLS is their number; make
// test-long kills ten thousand.
func TestKill(t *testing.T) {
	t.Parallel()
	program := built(t)
	names := points(t)
	kills := int(number(t, "BRAID_KILLS", 150))
	if testing.Short() {
		kills = min(kills, 60)
	}
	seed := number(t, "BRAID_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("BRAID_KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	// Some processes end before they are killed during a drain, mostly on a quiet machine.
	plan := ways(kills+kills/8, names, random)

	var mu sync.Mutex
	var sum figures
	causes := map[string]int{}
	began := time.Now()
	t.Run("worlds", func(t *testing.T) {
		for part := range slices.Chunk(plan, perWorld) {
			random := rand.New(rand.NewPCG(random.Uint64(), 2))
			t.Run("", func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, program, "")
				people := w.people(4, random)
				for _, way := range part {
					cause := w.kill(way)
					mu.Lock()
					causes[cause]++
					mu.Unlock()
				}
				if !w.finish(people) {
					return
				}
				r, err := w.record()
				if err != nil {
					t.Fatal(err)
				}
				found, count := r.check()
				report(t, found)
				mu.Lock()
				defer mu.Unlock()
				sum.add(count)
			})
		}
	})
	killed := len(plan) - causes[drained]
	if killed < kills {
		t.Errorf("%d processes were killed, want %d", killed, kills)
	}
	t.Logf("%d kills in %v", killed, time.Since(began).Round(time.Second))
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		t.Logf("%6d %s", causes[cause], cause)
	}
	t.Log(sum.String())
	if t.Failed() || kills < 500 {
		return
	}
	for _, name := range names {
		if causes[name] == 0 {
			t.Errorf("no process died at %s: nothing comes by there", name)
		}
	}
}

// report prints the first few findings of each promise.
func report(t *testing.T, found []finding) {
	t.Helper()
	told := map[promise]int{}
	for _, f := range found {
		if told[f.promise]++; told[f.promise] <= 5 {
			t.Errorf("%s\n\t%s", f.promise, f.says)
		}
	}
	for p, n := range told {
		if n > 5 {
			t.Errorf("%s\n\t… %d times in all", p, n)
		}
	}
}
