//go:build race && unix

package nodes

// Build the command under test with the race detector if the tests have it.
func init() { buildFlags = append(buildFlags, "-race") }
