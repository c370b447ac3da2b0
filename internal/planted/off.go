//go:build !planted

package planted

// Is is false in a normal build, so that the compiler drops what stands behind it.
func Is(string) bool { return false }
