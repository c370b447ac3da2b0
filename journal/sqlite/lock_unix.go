//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// claim opens the file and locks it. The file is closed on exec, so no child process keeps the
// lock.
func claim(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the folder is the caller's
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errHeld
	}
	_ = f.Close()
	return nil, err
}

// peek returns errHeld if another process has the lock. It has to share the lock for a moment to
// find out.
func peek(path string) error {
	f, err := os.Open(path) //nolint:gosec // the folder is the caller's
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return errors.Join(err, unlock(f))
}

// unlock releases the lock explicitly: closing does not release it while a child process that is
// being started has a copy of the file.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
