//go:build race

package e2e

// The command under test looks for races when its tests do.
func init() {
	buildFlags = func(string) ([]string, error) { return []string{"-trimpath", "-race"}, nil }
}
