package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// Constants that package syscall lacks.
const (
	errorSharingViolation syscall.Errno = 32
	errorWriteProtect     syscall.Errno = 19
	errorHandleDiskFull   syscall.Errno = 39
	errorDiskFull         syscall.Errno = 112
)

// claim opens the file for writing and lets others only read it. That is the lock; Windows
// releases it with the process.
func claim(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ,
		nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, errHeld
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// peek returns errHeld if another process has the file open for writing.
func peek(path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	f, err := claim(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func unlock(*os.File) error { return nil } // closing the file unlocks it

func readOnly(err error) bool { return errors.Is(err, errorWriteProtect) }

func noSpace(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull)
}
