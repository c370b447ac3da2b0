package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/raced"
)

// suites is a module with a package for each way in which tests end.
var suites = map[string]string{
	"go.mod": "module example.test/suites\n\ngo 1.26.0\n",
	"pass/a_test.go": `package pass
import "testing"
func TestA(t *testing.T) { t.Run("x", func(t *testing.T) {}); t.Run("y", func(t *testing.T) {}) }
func TestB(t *testing.T) { t.Log("nobody wants to read this") }
func Example() {
	// Output:
}
`,
	"fail/a_test.go": `package fail
import "testing"
func TestBelow(t *testing.T) { t.Run("bad", func(t *testing.T) { t.Error("want 1\ngot 2") }); t.Run("good", func(t *testing.T) {}) }
func TestOwn(t *testing.T) { t.Run("good", func(t *testing.T) {}); t.Error("its own fault") }
`,
	"skip/a_test.go": `package skip
import "testing"
func TestData(t *testing.T) { t.Log("looking"); t.Skip("BRAID_FIXTURES is not set") }
func TestTwo(t *testing.T) { t.Run("a", func(t *testing.T) { t.Skip("no moon") }); t.Run("b", func(t *testing.T) { t.Skip("no moon") }) }
func TestMute(t *testing.T) { t.SkipNow() }
`,
	"panics/a_test.go": `package panics
import "testing"
func TestP(t *testing.T) { var m map[string]int; m["a"] = 1 }
`,
	"dies/a_test.go": `package dies
import ("testing"; "time")
func TestD(t *testing.T) { go func() { panic("in a goroutine") }(); time.Sleep(time.Minute) }
`,
	"main/a_test.go": `package main
import ("os"; "testing")
func TestM(t *testing.T) {}
func TestMain(m *testing.M) { m.Run(); println("left something behind"); os.Exit(1) }
`,
	"broken/a_test.go": `package broken
import "testing"
func TestC(t *testing.T) { undefined() }
`,
	"slow/a_test.go": `package slow
import ("testing"; "time")
func TestS(t *testing.T) { t.Run("sub", func(t *testing.T) { time.Sleep(time.Hour) }) }
`,
	"none/a.go": "package none\n",
}

// module0 writes the suites to a folder.
func module0(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go was not found in PATH")
	}
	dir = t.TempDir()
	for name, text := range suites {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goTest begins a go test in a folder. It is compiled as this program is, so that the standard
// library is not compiled once more for it.
func goTest(dir string, more ...string) []string {
	args := []string{"env", "GOWORK=off", "go", "-C", dir, "test", "-mod=mod", "-vet=off", "-ldflags=-w"}
	if raced.On {
		args = append(args, "-race")
	}
	return append(args, more...)
}

// sum runs testsum and gives its exit code and what it printed.
func sum(args ...string) (code int, printed string) {
	var out, errOut bytes.Buffer
	code = run(args, &out, &errOut)
	return code, errOut.String() + out.String()
}

// lastLine is the last line of what was printed.
func lastLine(printed string) string {
	lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestEveryWayToEnd(t *testing.T) {
	t.Parallel()
	dir := module0(t)
	for _, c := range []struct {
		pkg     string
		code    int
		closing string
		want    []string
		not     []string
	}{
		{
			pkg: "pass", closing: "4 passed, 0 failed, 0 skipped",
			want: []string{"ok    example.test/suites/pass"},
			not:  []string{"nobody wants", "failed:", "skipped:"},
		},
		{
			pkg: "fail", code: 1, closing: "2 passed, 2 failed, 0 skipped",
			want: []string{
				"    --- FAIL: TestBelow/bad (0.00s)\n        a_test.go:3: want 1\n",
				"got 2", "its own fault", "suites/fail TestBelow/bad\n", "suites/fail TestOwn\n", "go test -shuffle=",
			},
			not: []string{"suites/fail TestBelow\n"},
		},
		{
			pkg: "skip", closing: "0 passed, 0 failed, 4 skipped",
			want: []string{
				"suites/skip TestData: BRAID_FIXTURES is not set\n",
				"suites/skip TestTwo (2 tests): no moon\n",
				"suites/skip TestMute: no reason given\n",
			},
			not: []string{"looking"},
		},
		{
			pkg: "panics", code: 1, closing: "0 passed, 1 failed, 0 skipped",
			want: []string{"assignment to entry in nil map", "a_test.go:3", "suites/panics TestP\n"},
		},
		{
			pkg: "dies", code: 1, closing: "0 passed, 1 failed, 0 skipped",
			want: []string{"panic: in a goroutine", "TestD did not end", "suites/dies TestD\n"},
		},
		{
			pkg: "main", code: 1, closing: "1 passed, 1 failed, 0 skipped",
			want: []string{"left something behind", "\n  example.test/suites/main\n"},
		},
		{
			pkg: "broken", code: 1, closing: "0 passed, 1 failed, 0 skipped",
			want: []string{"undefined: undefined", "build failed", "\n  example.test/suites/broken\n"},
		},
		{
			pkg: "slow", code: 1, closing: "0 passed, 1 failed, 0 skipped",
			want: []string{"test timed out after 200ms", "suites/slow TestS/sub\n"},
		},
		{
			pkg: "none", closing: "0 passed, 0 failed, 0 skipped",
			want: []string{"without tests: 1"},
		},
		{
			pkg: "nowhere", code: 1, closing: "0 passed, 1 failed, 0 skipped",
			want: []string{"nowhere"},
		},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			t.Parallel()
			timeout := "-timeout=1m"
			if c.pkg == "slow" {
				timeout = "-timeout=200ms"
			}
			code, printed := sum(goTest(dir, "-json", "-shuffle=on", timeout, "./"+c.pkg)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := lastLine(printed); got != c.closing {
				t.Errorf("closing line %q, want %q", got, c.closing)
			}
			for _, w := range c.want {
				if !strings.Contains(printed, w) {
					t.Errorf("%q is missing", w)
				}
			}
			for _, w := range c.not {
				if strings.Contains(printed, w) {
					t.Errorf("%q should not be there", w)
				}
			}
			if t.Failed() {
				t.Log(printed)
			}
		})
	}
}

// A test that hangs, and the program it runs in, end with the time that all have.
func TestTimeForAll(t *testing.T) {
	t.Parallel()
	dir := module0(t)
	slow := filepath.Join(dir, "slow.test")
	build := goTest(dir, "-c", "-o", slow, "./slow")
	if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The go command builds this tool when it is first asked for, and that takes its time.
	test2json, err := exec.Command("go", "tool", "-n", "test2json").Output()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	code, printed := sum("-max", "1s", strings.TrimSpace(string(test2json)), "-p", "example.test/suites/slow", slow, "-test.v=test2json")
	if code != exitTimeout {
		t.Errorf("exit code %d, want %d", code, exitTimeout)
	}
	if got := lastLine(printed); got != "0 passed, 1 failed, 0 skipped" {
		t.Errorf("closing line %q", got)
	}
	if !strings.Contains(printed, "stopped: not done after 1s") || !strings.Contains(printed, "TestS/sub did not end") {
		t.Error(printed)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "totals")
	for _, line := range []string{
		`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}`,
		`{"Action":"skip","Package":"q","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"q"}`,
	} {
		if code, printed := sum("-total", file, "sh", "-c", "echo '"+line+"'"); code != 0 {
			t.Fatal(code, printed)
		}
	}
	code, printed := sum("-closing", file)
	if code != 0 || printed != "1 passed, 0 failed, 1 skipped\n" {
		t.Errorf("exit code %d: %q", code, printed)
	}
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, printed := sum("-closing", file); code == 0 {
		t.Errorf("nonsense was summed up: %q", printed)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command":      nil,
		"unknown flag":    {"-colour"},
		"unknown command": {"no-such-command-anywhere"},
		"no totals":       {"-closing", filepath.Join(t.TempDir(), "none")},
	} {
		if code, printed := sum(args...); code != exitUsage || !strings.Contains(printed, "testsum") && !strings.Contains(printed, "colour") {
			t.Errorf("%s: exit code %d: %s", name, code, printed)
		}
	}
}

// What is no line of go test is passed on, and the exit code is the command's own.
func TestPassesOn(t *testing.T) {
	t.Parallel()
	code, printed := sum("sh", "-c", "echo hello; echo '{\"a\": 1}'; echo '{'; exit 7")
	if code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	for _, w := range []string{"hello\n", "{\"a\": 1}\n", "{\n"} {
		if !strings.Contains(printed, w) {
			t.Errorf("%q is missing in %q", w, printed)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		output []string
		want   string
	}{
		{[]string{"=== RUN   TestA\n", "    a_test.go:3: no moon\n", "--- SKIP: TestA (0.00s)\n"}, "no moon"},
		{[]string{"    a_test.go:3: first\n", "    a_test.go:9: last\n", "        and more\n"}, "last and more"},
		{[]string{"=== RUN   TestA\n"}, "no reason given"},
		{nil, "no reason given"},
	} {
		if got := reason(c.output); got != c.want {
			t.Errorf("%q gives %q, want %q", c.output, got, c.want)
		}
	}
}
