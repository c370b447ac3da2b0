//go:build !(linux || darwin || freebsd)

package term

// ctrlCAsKey is left to the line editor here.
func ctrlCAsKey(int, bool) {}
