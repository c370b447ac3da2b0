package cassette

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/braidrun/braid/event"
)

// Create creates a file for a recording. Only its owner may read it. If the file exists, the
// error is of kind [event.ErrConflict].
func Create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, fileError(err)
	}
	return f, nil
}

// Overwrite is Create for a path at which a file may exist. The new file replaces the old one
// atomically. Overwrite refuses a path that is not a regular file.
func Overwrite(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "what is there is no plain file, so no recording takes its place", Hint: "give another name",
		}
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strings.ToLower(rand.Text()[:8]))
	f, err := Create(next)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(next, path); err != nil {
		_ = f.Close()
		_ = os.Remove(next)
		return nil, fileError(err)
	}
	return f, nil
}

// Open opens the recording in a file; see [Replay].
func Open(path string, opts ...Option) (*Player, error) {
	f, err := os.Open(path) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, fileError(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &event.Error{Op: op, Kind: event.ErrInvalid, Message: "that is a folder, not a recording", Hint: "give the file"}
	}
	return Replay(f, opts...)
}

// fileError returns the error for an error of the file system, without the path.
func fileError(err error) error {
	e := &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the recording cannot be opened", Hint: "check its name and folder", Err: err}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Kind, e.Message = event.ErrConflict, "there is a file of that name already, and it is left as it is"
		e.Hint = "give another name, remove the file, or say that it is to be overwritten"
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message = event.ErrNotFound, "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message, e.Hint = event.ErrPermission, "the recording may not be opened", "check whose it is"
	case errors.Is(err, syscall.ENOSPC):
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, "there is no space left for the recording", "free some space, or write elsewhere"
	}
	return e
}
