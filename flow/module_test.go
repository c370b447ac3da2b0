package flow

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/race"
)

// A kind of agent can be written in another module, with what is public alone. The module's own test runs one, lets its driver die
// after each commit, and resumes it. Nothing is downloaded.
func TestAKindInAnotherModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, from := range map[string]string{
		"go.mod": "test/flowmodule/go.mod", "talk.go": "test/flowmodule/talk.go", "talk_test.go": "test/flowmodule/talk_test.go", "go.sum": "go.sum",
	} {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		if file == "go.mod" {
			text = []byte(strings.Replace(string(text), "=> ../..", "=> "+root, 1))
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Flags as those of this test, so that the libraries are there already.
	args := []string{"test", "-trimpath", "-vet=off", "-ldflags=-w", "-count=1", "-v", "."}
	if race.On {
		args = slices.Insert(args, 1, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTalkGoesOnAfterACrash") {
		t.Errorf("%v\n%s", err, out)
	}
}
