package sqlite

import (
	"errors"
	"path/filepath"
)

// Owner reports whether a process has the folder now, and its process id; 0 means unknown. It
// takes no lock and creates nothing. A folder that cannot be read, or does not exist, has no
// owner. The answer may be outdated when it arrives. It is safe for concurrent use.
func Owner(folder string) (pid int, owned bool) {
	path := filepath.Join(folder, lockName)
	if !errors.Is(peek(path), errHeld) {
		return 0, false
	}
	return signer(path), true
}
