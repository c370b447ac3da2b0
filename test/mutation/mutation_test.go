package mutation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/test/instrument/planted"
)

// variable selects the mutations to try by their names; "all" tries all.
const variable = "BRAID_MUTATIONS"

// mostNotYet bounds the rows that have no mutation yet: testdata/not-yet.txt lists them. It may only fall.
const mostNotYet = 0

func read(t *testing.T) (top string, all []*mutation, rows map[string][]test) {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if all, err = mutations("testdata"); err != nil {
		t.Fatal(err)
	}
	if rows, err = held(top); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	features, err := same(top)
	if err != nil || len(features) == 0 {
		t.Fatalf("%d features: %v", len(features), err)
	}
	maps.Copy(rows, features)
	return top, all, rows
}

// Every row that names a test has a mutation or is on the list of those that have none yet.
func TestEveryRowHasAMutation(t *testing.T) {
	t.Parallel()
	_, all, rows := read(t)
	text, err := os.ReadFile(filepath.Join("testdata", "not-yet.txt"))
	if err != nil {
		t.Fatal(err)
	}
	notYet := strings.Fields(string(text))
	broken := map[string]bool{}
	for _, m := range all {
		for _, row := range m.rows {
			if broken[row] = true; len(rows[row]) == 0 {
				t.Errorf("%s breaks %s, which names no test", m.name, row)
			}
		}
	}
	for row := range rows {
		switch later := slices.Contains(notYet, row); {
		case !broken[row] && !later:
			t.Errorf("%s has no mutation", row)
		case broken[row] && later:
			t.Errorf("%s has a mutation: take it off the list", row)
		}
	}
	for _, row := range notYet {
		if len(rows[row]) == 0 {
			t.Errorf("%s names no test: take it off the list", row)
		}
	}
	if n := len(notYet); n != mostNotYet {
		t.Errorf("%d rows have no mutation yet; the bound is %d and may only fall", n, mostNotYet)
	}
}

// Every mutation fits the code, and can be turned on by itself.
func TestMutationsFit(t *testing.T) {
	t.Parallel()
	top, all, _ := read(t)
	if _, err := batches(top, all); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.name] {
			t.Errorf("there are two mutations %s", m.name)
		}
		seen[m.name] = true
	}
}

// TestMutations breaks the code by one mutation after the other. For each row, a test that the row
// names must fail. It runs if BRAID_MUTATIONS selects mutations.
func TestMutations(t *testing.T) { //nolint:paralleltest // it compiles, and starts other tests
	selected := os.Getenv(variable)
	if selected == "" {
		t.Skip("make test-long tries the mutations")
	}
	if selected == "all" {
		selected = ""
	}
	only := regexp.MustCompile(selected)
	top, list, rows := read(t)
	all, err := batches(top, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range all {
		r, err := newRunner(top, i, b, rows)
		if err != nil {
			t.Fatal(err)
		}
		for n, m := range b.mutations {
			if !only.MatchString(m.name) {
				continue
			}
			for _, row := range m.rows {
				killer, err := r.try(m, row)
				switch {
				case err != nil:
					t.Errorf("%s under mutation %s: %v", row, m.name, err)
				case killer == "":
					t.Errorf("%s survives mutation %s: %v do not fail", row, m.name, rows[row])
				}
				fmt.Fprintf(os.Stderr, "%d/%d %d/%d %s under %s: %s\n", i+1, len(all), n+1, len(b.mutations), row, m.name,
					cmp.Or(killer, "SURVIVES"))
			}
		}
	}
}

// A runner tries the mutations of one batch.
type runner struct {
	top, dir string
	overlay  string
	rows     map[string][]test
	binaries map[string]*binary // by folder
	results  map[string]string  // by mutation, test and binary: "fails", "passes", "skips"
	took     map[test]time.Duration
}

// A binary is the compiled tests of a package.
type binary struct{ path, hash string }

func newRunner(top string, number int, b *batch, rows map[string][]test) (*runner, error) {
	r := &runner{top: top, dir: filepath.Join(top, "bin", "_mutations"), rows: rows, binaries: map[string]*binary{}, results: map[string]string{}, took: map[test]time.Duration{}}
	var err error
	if r.overlay, err = b.copies.Write(filepath.Join(r.dir, fmt.Sprint("batch", number))); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "results.json"))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(data, &r.results)
}

// try returns the test of the row that fails under the mutation, or "".
func (r *runner) try(m *mutation, row string) (string, error) {
	tests := slices.Clone(r.rows[row])
	slices.SortStableFunc(tests, func(a, b test) int { return near(b.dir, m.edit.Dir) - near(a.dir, m.edit.Dir) })
	for _, t := range tests {
		whole, err := r.result("", t)
		if err != nil {
			return "", err
		}
		if whole == "fails" {
			return "", fmt.Errorf("%s fails without a mutation", t.name)
		}
		broken, err := r.result(m.name, t)
		if err != nil || broken == "fails" && whole == "passes" {
			return t.name, err
		}
	}
	return "", nil
}

// result runs a test under the mutation of that name, "" for none, or looks up how it ended.
func (r *runner) result(name string, t test) (string, error) {
	b, err := r.binary(t.dir)
	if err != nil {
		return "", err
	}
	key := strings.Join([]string{name, t.dir, t.name, b.hash}, " ")
	if r.results[key] != "" {
		return r.results[key], nil
	}
	limit := 3 * time.Minute
	if took, known := r.took[t]; known && name != "" {
		limit = 20*time.Second + 5*took // under some mutations a test waits for ever
	}
	began := time.Now()
	cmd := exec.Command(b.path, "-test.v", "-test.timeout="+limit.String(), "-test.run=^"+t.name+"$")
	cmd.Dir = filepath.Join(r.top, filepath.FromSlash(t.dir))
	cmd.Env = append(os.Environ(), planted.Variable+"="+name, variable+"=")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if name == "" {
		r.took[t] = time.Since(began)
	}
	switch {
	case err != nil:
		r.results[key] = "fails"
	case strings.Contains(string(out), "--- PASS: "+t.name+" "):
		r.results[key] = "passes"
	default:
		r.results[key] = "skips"
	}
	data, err := json.MarshalIndent(r.results, "", "\t")
	if err != nil {
		return "", err
	}
	return r.results[key], os.WriteFile(filepath.Join(r.dir, "results.json"), data, 0o600)
}

// binary compiles the tests of a package with the mutations of the batch.
func (r *runner) binary(dir string) (*binary, error) {
	if b := r.binaries[dir]; b != nil {
		return b, nil
	}
	path := filepath.Join(r.dir, strings.NewReplacer("/", "_", ".", "_").Replace(dir)+".test")
	build := exec.Command("go", "test", "-c", "-trimpath", "-vet=off", "-ldflags=-w", "-overlay="+r.overlay, "-o", path, "./"+dir)
	build.Dir = r.top
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s cannot be built: %w\n%s", dir, err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	r.binaries[dir] = &binary{path: path, hash: hex.EncodeToString(sum[:12])}
	return r.binaries[dir], nil
}

// near says how likely a test in a folder notices a change in another one.
func near(test, changed string) int {
	switch {
	case test == changed:
		return 3
	case strings.HasPrefix(test, changed), strings.HasPrefix(changed, test):
		return 2
	case test == ".":
		return 1
	}
	return 0
}
