//go:build peers

package adk_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDeveloperUI has ADK's own developer UI talk to the handler, in a browser: a session, an answer, two tools at once, a reload.
func TestDeveloperUI(t *testing.T) {
	dir := os.Getenv("BRAID_PEERS_ADK")
	if dir == "" {
		t.Skip("BRAID_PEERS_ADK is not set: run scripts/test-peers adk")
	}
	s := open(t)
	files := http.FileServer(http.Dir(filepath.Join(dir, "package", "dist", "browser")))
	mux := http.NewServeMux()
	mux.Handle("/adk/", s.Config.Handler)
	mux.HandleFunc("/dev-ui/assets/config/runtime-config.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"backendUrl":"/adk"}`))
	})
	mux.Handle("/dev-ui/", http.StripPrefix("/dev-ui", files))
	site := httptest.NewServer(mux)
	defer site.Close()
	shot := filepath.Join(t.TempDir(), "ui.png")
	if keep := os.Getenv("BRAID_SCREENSHOT"); keep != "" {
		shot = keep
	}
	node := filepath.Join(dir, "node_modules", ".bin", "node")
	cmd := exec.CommandContext(t.Context(), node, "testdata/ui.mjs", dir, site.URL, "Bearer key acme/user", shot)
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var got struct {
		Problems, Asked []string
		Text            string
		Doubled         int
	}
	if err := cmd.Run(); err != nil || json.Unmarshal(out.Bytes(), &got) != nil {
		t.Fatalf("%v %s\n%s", err, &out, &errs)
	}
	if len(got.Problems) > 0 || got.Doubled != 1 {
		t.Errorf("%q, %d times\n%s\n%s", got.Problems, got.Doubled, strings.Join(got.Asked, "\n"), got.Text)
	}
	for _, want := range []string{"GET /adk/list-apps 200", "POST /adk/apps/default/users/user/sessions 200", "POST /adk/run_sse 200"} {
		if !slices.Contains(got.Asked, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(got.Asked, "\n"))
		}
	}
	for _, asked := range got.Asked {
		if strings.Contains(asked, " 4") && !strings.Contains(asked, "/adk/dev/") || strings.Contains(asked, " 5") {
			t.Errorf("the UI gets %s", asked)
		}
	}
}
