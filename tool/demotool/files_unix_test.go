//go:build unix

package demotool

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/braidrun/braid/event"
)

// A named pipe that takes a file's place after the file was looked at holds up no read.
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
