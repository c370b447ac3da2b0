//go:build !unix

package failpoint

// Hit does nothing where a process cannot be killed by a signal.
func Hit(string) {}
