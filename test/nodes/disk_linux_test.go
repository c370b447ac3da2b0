package nodes

import "syscall"

// smallDisk mounts a disk in memory that a database just fits on.
func smallDisk(path string) error {
	return syscall.Mount("tmpfs", path, "tmpfs", 0, "size=160m,mode=1777")
}
