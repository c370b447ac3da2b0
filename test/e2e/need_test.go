package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What make test needs is told in one line, with what to do next, before
// anything is built.
func TestWhatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	script, err := filepath.Abs("../../scripts/need")
	if err != nil {
		t.Fatal(err)
	}
	stubs, err := filepath.Abs("testdata/need")
	if err != nil {
		t.Fatal(err)
	}
	const linux, darwin = "linux", "darwin" // in testdata/need
	for name, c := range map[string]struct {
		// have are the programs that there are, and what stands for them.
		have  map[string]string
		asked []string
		cc    string
		// told is the whole answer; "" is that nothing is missing.
		told string
	}{
		"all there":     {map[string]string{"go": linux, "git": linux, "gcc": linux}, []string{"go", "git", "cc"}, "", ""},
		"no C compiler": {map[string]string{"go": linux, "git": linux}, []string{"go", "git", "cc"}, "", "there is no gcc (install gcc or clang, or go on without it: RACE=0)"},
		"another one":   {map[string]string{"go": linux, "git": linux, "tcc": linux}, []string{"go", "git", "cc"}, "tcc -O1", ""},
		"without race":  {map[string]string{"go": linux, "git": linux}, []string{"go", "git"}, "", ""},
		"on a Mac":      {map[string]string{"go": darwin, "git": linux}, []string{"go", "git", "cc"}, "", ""},
		"no Go":         {map[string]string{"git": linux, "gcc": linux}, []string{"go", "git", "cc"}, "", "Go is not installed (get 1.26 or newer from https://go.dev/dl)"},
		"nothing":       {nil, []string{"go", "git", "cc"}, "", "git is not installed (install the package git)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for program, stub := range c.have {
				if err := os.Symlink(filepath.Join(stubs, stub), filepath.Join(dir, program)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), shell, append([]string{script}, c.asked...)...)
			cmd.Env = []string{"PATH=" + dir, "CC=" + c.cc}
			out, err := cmd.CombinedOutput()
			switch {
			case (err == nil) != (c.told == ""):
				t.Errorf("it ended with %v: %s", err, out)
			case c.told == "" && len(out) > 0:
				t.Errorf("it said %s", out)
			case !strings.Contains(string(out), c.told) || strings.Count(string(out), "\n") > 1:
				t.Errorf("it said %s, want one line with %s", out, c.told)
			}
		})
	}
}
