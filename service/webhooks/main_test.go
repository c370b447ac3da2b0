package webhooks_test

import (
	"os"
	"testing"

	"github.com/braidrun/braid/service/database/databasetest"
)

var databases databasetest.Databases

func TestMain(m *testing.M) { os.Exit(databases.Main(m)) }
