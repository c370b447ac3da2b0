package skill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree writes files by their paths, and gives the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
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

// written is a SKILL.md.
func written(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n" + body + "\n"
}

// hintOf is what an error says to do; empty where it says nothing.
func hintOf(err error) string {
	if e := (*event.Error)(nil); errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// kind fails the test unless the error is of that kind, with a hint.
func kind(t *testing.T, err error, want event.ErrorKind) {
	t.Helper()
	if event.KindOf(err) != want || hintOf(err) == "" {
		t.Errorf("%v is %q, want %q with a hint", err, event.KindOf(err), want)
	}
}
