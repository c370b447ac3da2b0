package mcptool_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is two programs: the tests, and the server that they start.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MCPTOOL_CHILD"); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}
