//go:build linux || darwin || freebsd

package term

import "golang.org/x/sys/unix"

// ctrlCAsKey switches Ctrl-C on the terminal between a key that the program reads and a signal. It ignores
// errors: the terminal then stays as it is.
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
