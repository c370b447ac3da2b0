//go:build unix

package demotool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/braidrun/braid/event"
)

// A named pipe that replaces a file after its check does not block a read.
func TestAPipeInAFilesPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if file, err := open(root, "a.txt"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a pipe is opened: %v, %v", file, err)
	}
}

// A named pipe in a file's place does not block a write, and the write does not follow it.
func TestAPipeInADraftsPlace(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	for name, plant := range map[string]func(string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink(elsewhere, path) },
		"file": func(path string) error { return os.WriteFile(path, []byte("left by a crash"), 0o600) },
	} {
		if err := plant(filepath.Join(dir, "."+name+".draft")); err != nil {
			t.Fatal(err)
		}
		f := &folder{open: func(context.Context) (*os.Root, error) { return os.OpenRoot(dir) }}
		if _, err := f.write(t.Context(), name, "the content"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "the content" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a link is written through")
	}
}
