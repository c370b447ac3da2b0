//go:build peers

package mcppeer

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// installed finds a file of what test/peers/mcp has installed.
func installed(t *testing.T, path ...string) string {
	t.Helper()
	dir := os.Getenv("BRAID_PEERS_MCP")
	if dir == "" {
		t.Fatal("BRAID_PEERS_MCP is not set: run scripts/test-peers mcp")
	}
	file := filepath.Join(append([]string{dir, "node_modules"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}
