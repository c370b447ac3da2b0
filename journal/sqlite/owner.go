package sqlite

import (
	"errors"
	"path/filepath"
)

// Owner tells whether a process has the folder now, and which: 0 is one that does not
// say. It takes nothing and makes nothing; a folder that cannot be looked at, or is
// not there, counts as owned by nobody. The answer may be old when it arrives.
func Owner(folder string) (pid int, owned bool) {
	path := filepath.Join(folder, lockName)
	if !errors.Is(peek(path), errHeld) {
		return 0, false
	}
	return signer(path), true
}
