package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/sandbox"
)

// A copy of this program is the attacker inside the sandboxes, and the program that is killed.
func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 2 && os.Args[1] == "inside" {
		os.Exit(attack(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}
