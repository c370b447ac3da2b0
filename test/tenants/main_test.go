package tenants

import (
	"os"
	"testing"

	"github.com/braidrun/braid/service/database/databasetest"
)

var databases databasetest.Databases

// TestMain looks for goroutines that are left, too.
func TestMain(m *testing.M) { os.Exit(databases.Main(m)) }

// crowd is how many clients and tenants there are: all of them in the suite of peers.
func crowd() (clients, tenants int) {
	if os.Getenv("BRAID_LOAD") == "full" {
		return 500, 50
	}
	return 16, 4
}
