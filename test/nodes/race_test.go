//go:build race && unix

package nodes

// The command under test looks for races when its tests do.
func init() { buildFlags = append(buildFlags, "-race") }
