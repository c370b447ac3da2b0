package claude

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or stands in for the program: see standin_test.go.
func TestMain(m *testing.M) {
	if mode := os.Getenv("BRAID_STANDIN"); mode != "" {
		os.Exit(standIn(mode))
	}
	if os.Getenv("BRAID_OWNER") != "" {
		ownAndHang()
	}
	goleak.VerifyTestMain(m)
}
