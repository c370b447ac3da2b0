//go:build !(linux || darwin || freebsd)

package term

// ctrlCAsKey does nothing on this platform; the line editor handles Ctrl-C.
func ctrlCAsKey(int, bool) {}
