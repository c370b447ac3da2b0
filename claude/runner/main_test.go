package runner_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or stands in for the program: see standin_test.go.
func TestMain(m *testing.M) {
	if os.Getenv("BRAID_STANDIN") != "" {
		os.Exit(standIn())
	}
	goleak.VerifyTestMain(m)
}
