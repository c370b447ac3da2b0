//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

func takeFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return file, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errTaken
	}
	return nil, errors.Join(err, file.Close())
}

// leaveFile releases the lock, also if a child of this process still has the file open.
func leaveFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
