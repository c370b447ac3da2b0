//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// braid is the command under test, built once. buildFlags are those of make build, with -race if the tests have it.
var (
	braid      string
	buildFlags = []string{"-trimpath"}
)

// shared is the PostgreSQL server of most tests. Each test has its own database on it.
var (
	shared  *postgrestest.Server
	missing error
)

func TestMain(m *testing.M) { os.Exit(whole(m)) }

func whole(m *testing.M) int {
	ctx := context.Background()
	shared, missing = postgresServer(ctx, "fsync=off", "full_page_writes=off", "max_connections=300")
	switch {
	case errors.Is(missing, errNotAsked), errors.Is(missing, postgrestest.ErrMissing):
		return m.Run()
	case missing != nil:
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	defer shared.Close()
	dir, err := os.MkdirTemp("", "braid-nodes-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	braid = filepath.Join(dir, "braid")
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, buildFlags...), "-o", braid, "../../cmd/braid")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the command cannot be built: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// needed returns the shared server, or skips the test if there is none.
func needed(t *testing.T) *postgrestest.Server {
	t.Helper()
	if missing == nil {
		return shared
	}
	if os.Getenv("BRAID_POSTGRES") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return nil
}
