//go:build amd64 || arm64

package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockVersion returns the version of the kernel's Landlock; 0 if it is missing or switched off.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// What Landlock may allow for files and folders.
const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// landlockV1 are all rights of the first version.
	landlockV1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
)

// landlockRights returns all rights that a version of Landlock can withhold, and the scopes that it can close.
func landlockRights(version int) (files, scopes uint64) {
	files = landlockV1
	if version >= 2 {
		files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return files, scopes
}

// applyLandlock lets this thread, and what it starts, read what the sandbox holds and write the workspace, the scratch
// folder and the devices only. It is independent of the mounts, which say the same.
func applyLandlock(version int) error {
	all, scopes := landlockRights(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: all, Scoped: scopes}
	size := unsafe.Sizeof(attr)
	if version < 6 { // an older kernel refuses fields that it does not know unless they are zero
		attr.Scoped = 0
	}
	//nolint:gosec // the system call reads it
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(rules))
	const noDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	for _, rule := range []struct {
		path   string
		rights uint64
	}{
		{"/", landlockRead},
		{Scratch, all &^ noDevices},
		{Workspace, all &^ noDevices},
		{"/dev", landlockRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | all&unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	} {
		if err := addRule(int(rules), rule.path, rule.rights); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// addRule allows rights at a path and below it.
func addRule(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the system call reads it
	if errno != 0 {
		return errno
	}
	return nil
}
