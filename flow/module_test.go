package flow

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	cmd := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", "-ldflags=-w", "-count=1", "-v", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTalkGoesOnAfterACrash") {
		t.Errorf("%v\n%s", err, out)
	}
}
