package e2e

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// adk sends a request of an ADK client to the server.
func (s *site) adk(method, path, body string) (code int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/adk"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// A session of an ADK client, its state and its artifacts are there after the process was killed, and the session goes on.
func TestADKSessionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	const sessions = "/apps/default/users/ann/sessions/s"
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"--adk", "--artifacts", "--model", "demo:tour?speed=0"}
	s := startServer(t, dir, args...)
	run := func() {
		t.Helper()
		code, text := s.adk("POST", "/run_sse", `{"userId":"ann","sessionId":"s","streaming":true,"newMessage":{"parts":[{"text":"Show me what you can do."}]}}`)
		if code != 200 || !strings.Contains(text, `"functionResponse"`) || !strings.Contains(text, `"partial":true`) || !strings.Contains(text, `"turnComplete":true`) {
			t.Fatalf("%d %s", code, text)
		}
	}
	ask := func(method, path, body, want string) string {
		t.Helper()
		code, got := s.adk(method, path, body)
		if code != 200 || !strings.Contains(got, want) {
			t.Fatalf("%s %s: %d %s", method, path, code, got)
		}
		return got
	}
	ask("POST", sessions, `{"color":"blue"}`, `"color":"blue"`)
	run()
	ask("PATCH", sessions, `{"stateDelta":{"user:lang":"ja"}}`, `"user:lang":"ja"`)
	ask("POST", sessions+"/artifacts", `{"filename":"user:note.txt","artifact":{"text":"hello"}}`, `"version":0`)
	before := ask("GET", sessions, "", `"functionCall"`)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended //nolint:errcheck // it was killed
	s.ended <- nil
	s = startServer(t, dir, args...)
	if after := ask("GET", sessions, "", `"color":"blue"`); after != before {
		t.Errorf("after a kill the session is\n%s\nand was\n%s", after, before)
	}
	ask("GET", sessions+"/artifacts/user:note.txt", "", `"data":"aGVsbG8="`)
	run()
}

// The agents of a tenant are its apps: each has sessions of its own, and answers in them.
func TestADKApps(t *testing.T) {
	t.Parallel()
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--adk", "--model", "demo:tour?speed=0")
	s.json(201, "POST", "/v1/admin/tenants/default/agents", `{"id":"helper","description":"helps"}`, "Authorization", "Bearer "+s.token)
	for path, want := range map[string]string{
		"/list-apps": `["default","helper"]`, "/list-apps?detailed=true": `"description":"helps"`, "/apps/helper/app-info": `"name":"helper"`,
	} {
		if code, got := s.adk("GET", path, ""); code != 200 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", path, code, got)
		}
	}
	for _, app := range []string{"default", "helper"} {
		at := "/apps/" + app + "/users/ann/sessions"
		if code, got := s.adk("POST", at+"/of-"+app, ""); code != 200 {
			t.Fatal(code, got)
		}
		body := `{"appName":"` + app + `","userId":"ann","sessionId":"of-` + app + `","newMessage":{"parts":[{"text":"Show me what you can do."}]}}`
		if code, got := s.adk("POST", "/run", body); code != 200 || !strings.Contains(got, `"author":"`) || !strings.HasPrefix(got, "[{") {
			t.Errorf("%s: %d %s", app, code, got)
		}
		if code, got := s.adk("GET", at, ""); code != 200 || strings.Count(got, `"id":`) != 1 || !strings.Contains(got, "of-"+app) {
			t.Errorf("%s: %d %s", app, code, got)
		}
	}
	for _, path := range []string{"/apps/helper/users/ann/sessions/of-default", "/apps/default/users/ann/sessions/of-helper", "/apps/nothing/app-info"} {
		if code, got := s.adk("GET", path, ""); code != 404 {
			t.Errorf("%s: %d %s", path, code, got)
		}
	}
}
