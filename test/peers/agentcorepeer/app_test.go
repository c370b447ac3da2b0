//go:build peers

package agentcorepeer

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRuntimeApp asks AWS's runtime app, with a Strands agent inside, as a user would.
func TestRuntimeApp(t *testing.T) {
	dir := modules(t)
	port := freePort(t)
	app := exec.Command(filepath.Join(dir, ".bin", "node"), "node/app.mjs", dir, port)
	app.WaitDelay = 5 * time.Second
	var log bytes.Buffer
	app.Stdout, app.Stderr = &log, &log
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = app.Process.Kill()
		_ = app.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	url := "http://127.0.0.1:" + port
	eventually(t, "the app does not come up", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ping", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	const session = "a-session-of-at-least-33-characters"
	invoke := func(args ...string) (string, string, int) {
		cmd := exec.CommandContext(t.Context(), braid, append([]string{"agentcore", "invoke", "--url", url, "--session", session}, args...)...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		prompt, out, err string
		exit             int
	}{
		{"session", session + "\n", "session " + session, 0},
		{"quick start", "調べます。答えは 42 です。\n", "", 0},
		{"strings", "調べます。答えは 42 です。\n", "", 0},
		{"lines", "調べます。\n調べます。答えは \n答えは 42 です。\n42 です。\n", "", 0},
		{"dicts", "調べます。答えは 42 です。\n", "", 0}, // the app makes envelopes of them
		{"late", "some \n", "the agent failed: it broke", 20},
		{"events", "調べます。\n\nTool #1: multiply\n  a: 6\n  b: 7\nTool #2: AWS Documentation Reader\n  url: x\n" +
			"  #1 multiply: 42\n  #2 AWS Documentation Reader: a page\n\n答えは 42 です。\n", "", 0},
	} {
		out, errs, exit := invoke(c.prompt)
		if out != c.out || !strings.Contains(errs, c.err) || exit != c.exit {
			t.Errorf("%s: exit %d, %q\n%s", c.prompt, exit, out, errs)
		}
	}
	out, errs, exit := invoke("--json", "events")
	var sum struct {
		Text  string
		Tools []struct{ Title, Result string }
	}
	if err := json.Unmarshal([]byte(out), &sum); err != nil || exit != 0 || len(sum.Tools) != 2 || sum.Tools[0].Result != "42" {
		t.Errorf("as JSON: %v, exit %d, %+v\n%s", err, exit, sum, errs)
	}
	// What the app refuses is told.
	if _, errs, exit := invoke("--payload", "testdata/peer.yaml"); exit == 0 || !strings.Contains(errs, "400") && !strings.Contains(errs, "JSON") {
		t.Errorf("a bad payload: exit %d, %s", exit, errs)
	}
}
