//go:build linux || darwin || freebsd

package term

import "golang.org/x/sys/unix"

// ctrlCAsKey says whether Ctrl-C on the terminal is a key that is read, or a
// signal that interrupts. What cannot be set stays as it is.
func ctrlCAsKey(fd int, key bool) {
	mode, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return
	}
	if key {
		mode.Lflag &^= unix.ISIG
	} else {
		mode.Lflag |= unix.ISIG
	}
	_ = unix.IoctlSetTermios(fd, setTermios, mode)
}
