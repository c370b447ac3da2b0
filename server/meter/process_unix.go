//go:build linux || darwin

package meter

import (
	"os"
	"syscall"
)

// descriptors counts the names in a folder that has one for each open file, without that of the folder.
func descriptors(dir string) *float64 {
	f, err := os.Open(dir) //nolint:gosec // the system's own folder
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(0) // which, unlike ReadDir, asks nothing of each
	if err != nil {
		return nil
	}
	return new(float64(len(names) - 1))
}

// most is the limit that holds now.
func most(resource int) *float64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		return nil
	}
	return new(float64(limit.Cur))
}
