package nodes

import "syscall"

// smallDisk mounts a memory disk on which a database only just fits.
func smallDisk(path string) error {
	return syscall.Mount("tmpfs", path, "tmpfs", 0, "size=160m,mode=1777")
}
