package main

import (
	"errors"
	"os"
	"syscall"
)

// errorSharingViolation is missing in package syscall.
const errorSharingViolation syscall.Errno = 32

// takeFile opens the file exclusively.
func takeFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

func leaveFile(*os.File) error { return nil } // closing the file releases it
