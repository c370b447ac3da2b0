//go:build peers

package mcppeer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformance runs every client scenario of the suite: those that each
// revision requires, in that revision's own words, and all that there are. What
// is known to fail stands in exceptions.yml, with reasons; a scenario that passes
// although it stands there fails the test too.
func TestConformance(t *testing.T) {
	suite := installed(t, ".bin", "conformance")
	node := filepath.Dir(installed(t, ".bin", "node"))
	client := filepath.Join(t.TempDir(), "client")
	if out, err := exec.Command("go", "build", "-o", client, "./client").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exceptions, err := filepath.Abs("exceptions.yml")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"2025-11-25": {"--requirements", "2025-11-25"},
		"2026-07-28": {"--requirements", "2026-07-28"},
		"all":        {"--suite", "all", "--expected-failures", exceptions},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(suite, append([]string{"client", "--command", client}, args...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+node+string(filepath.ListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			_, summary, found := strings.Cut(string(out), "=== SUITE SUMMARY ===")
			if err != nil || !found {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Log(summary)
		})
	}
}
