//go:build race

package e2e

// The command under test looks for races when its tests do.
func init() { buildFlags = append(buildFlags, "-race") }
