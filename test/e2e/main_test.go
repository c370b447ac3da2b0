package e2e

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// braid is the command under test, built once.
var braid string

// buildFlags returns the flags of make build that change what the command does, and those of the
// tests. The string is a folder for files that the build needs.
var buildFlags = func(string) ([]string, error) { return []string{"-trimpath"}, nil }

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		os.Exit(serveProgram())
	}
	flag.Parse()
	// The tests wait for processes as much as they work.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0))) // it is a number
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "braid-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := watchSources("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	braid = filepath.Join(dir, "braid")
	flags, err := buildFlags(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", braid, "../../cmd/braid")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the command cannot be built: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// watchSources reads every folder of the module. go test runs this package again only if its binary
// or something that it has read has changed, and it does not see what the go command reads.
func watchSources(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != top && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		return err
	})
}

// gorace has the race detector wait for a moment before the command ends, and not
// for the second that it would: the command ends a few hundred times.
const gorace = "atexit_sleep_ms=20"

// environment is that of a person who has set nothing up.
func environment(t *testing.T, more ...string) []string {
	home := t.TempDir()
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "TERM=xterm-256color", "TZ=UTC", "GORACE=" + gorace,
	}, more...)
}
