//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// measureEach is the shortest time between two measurements of the folder. A folder that takes long is measured less
	// often: a tenth of the time, at most, goes into it.
	measureEach = 200 * time.Millisecond
	// entryBytes is what a file or folder counts besides its content, so that many empty ones count too.
	entryBytes = 4096
)

// measure watches the size of the folder.
func (w *watcher) measure() {
	start, _ := sizeOf(Workspace)
	for {
		begun := time.Now()
		now, ok := sizeOf(Workspace)
		if !ok || now-start > w.limits.Folder {
			w.grown.Store(true)
			return
		}
		time.Sleep(max(measureEach, 10*time.Since(begun)))
	}
}

// sizeOf returns the bytes below a folder. ok is false for one that is nested too deeply to be looked at.
func sizeOf(folder string) (n int64, ok bool) {
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // it has gone by now
		}
		n += entryBytes
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				n += s.Blocks * 512 // a file with holes takes less than it is long
			}
		}
		return nil
	})
	return n, err == nil
}
