//go:build !(linux || darwin || freebsd)

package main

import "errors"

// freeSpace is not supported on this platform.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
