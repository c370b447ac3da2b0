//go:build linux || darwin || freebsd

package main

import "syscall"

// freeSpace is how many bytes a person without privileges may still write
// where dir is.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(max(s.Bavail, 0)) * uint64(s.Bsize), nil //nolint:unconvert // signed on FreeBSD
}
