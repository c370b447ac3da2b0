//go:build peers

package agui_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClient has AG-UI's own client talk to the handler. It checks the form and the order of all events, and what it has in
// the end, messages and state, is compared.
func TestClient(t *testing.T) {
	dir := os.Getenv("BRAID_PEERS_AGUI")
	if dir == "" {
		t.Skip("BRAID_PEERS_AGUI is not set: run scripts/test-peers agui")
	}
	s := open(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "node"), "testdata/client.mjs", dir, s.URL+"/agui", token)
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var failed []string
	if err != nil || json.Unmarshal(out.Bytes(), &failed) != nil || len(failed) > 0 {
		t.Fatalf("%v %s\n%s", err, strings.Join(failed, "\n"), &errs)
	}
	if strings.Contains(errs.String(), "[ag-ui]") {
		t.Errorf("the client warns:\n%s", &errs)
	}
}
