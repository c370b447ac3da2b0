//go:build linux || darwin || freebsd

package main

import "syscall"

// freeSpace returns the bytes that a user without privileges may still write to the file system of dir.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(max(s.Bavail, 0)) * uint64(s.Bsize), nil //nolint:unconvert // signed on FreeBSD
}
