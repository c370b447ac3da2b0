package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No error shows a tenant internals of the server: folders, variables, addresses, commands of tool servers or database
// statements. This holds on every wire, and for everything that can be read of the run later.
func TestErrorsTellNothingOfTheInside(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key"), "refuse"):
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key"), "auth"):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, "<html>not a model</html>")
		}
	}))
	defer far.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	top := t.TempDir()
	data, script, mcp := filepath.Join(top, "canary-folder"), filepath.Join(top, "script.yaml"), filepath.Join(top, "canary-mcp.json")
	for name, text := range map[string]string{
		script: strings.ReplaceAll(filesRules, "canary.txt", "notes.txt"),
		mcp:    `{"mcpServers":{"far":{"type":"http","url":"` + dead.URL + `/canary-address"},"near":{"command":"/canary-program","args":["canary-argument"],"env":{"CANARY_SETTING":"x"}}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serveIn(t, data, map[string]string{
		"OPENAI_BASE_URL": far.URL + "/v1", "ANTHROPIC_BASE_URL": far.URL, "GOOGLE_GEMINI_BASE_URL": far.URL,
		"CANARY_REFUSED_KEY": "sk-refuse", "CANARY_AUTH_KEY": "sk-auth", "CANARY_ODD_KEY": "sk-odd",
	}, "--model", "demo:"+script, "--tools", "files", "--mcp", mcp, "--agentcore")
	inside := []string{
		"canary", "CANARY", top, strings.TrimPrefix(far.URL, "http://"), strings.TrimPrefix(dead.URL, "http://"), "_KEY", "_URL", "sk-", "sqlite", "SELECT ", ".go:", "goroutine ",
		".db", "no such file", "connection refused",
	}
	s.must("", "POST", "/v1/admin/tenants", `{"id":"a"}`)
	token := s.key("a", "ann", "read", "write", "admin:read", "admin:write")
	var models []string
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		for _, variable := range []string{"REFUSED", "AUTH", "ODD"} {
			id := strings.ToLower(provider + "-" + variable)
			s.must("", "POST", "/v1/admin/tenants/a/models", `{"id":"`+id+`","provider":"`+provider+`","name":"m","credential":{"env":"CANARY_`+variable+`_KEY"}}`)
			models = append(models, id)
		}
	}
	// A file is in the place of the folder for files.
	scratch := filepath.Join(data, "scratch")
	if err := os.RemoveAll(scratch); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(scratch, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := func(what, answer string) {
		t.Helper()
		for _, word := range inside {
			if i := strings.Index(answer, word); i >= 0 {
				t.Errorf("%s tells %q: …%s…", what, word, answer[max(0, i-120):min(len(answer), i+120)])
			}
		}
	}
	for _, model := range append(models, "", "nosuch", "openai:x", "demo:/etc/passwd", "demo:"+script[:4]) {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			conv := s.conversation(token)
			at := "/v1/conversations/" + conv
			status, answer := s.askFor(token, "POST", at+"/runs", `{"user_input":"write it","limits":{"timeout_seconds":2},"model":"`+model+`"}`, accept)
			told(fmt.Sprintf("%q as %s", model, accept), answer)
			if strings.HasSuffix(model, "-refused") && (!strings.Contains(answer, `"SDK_ERROR"`) || accept == "application/json" && status != http.StatusBadGateway) {
				t.Errorf("%s, refused by its provider as %s: %d %s", model, accept, status, answer)
			}
			for _, path := range []string{"/runs", "/events", "/export", "/messages", "/tools", ""} {
				_, answer := s.ask(token, "GET", at+path, "")
				told(fmt.Sprintf("%s of %q", path, model), answer)
			}
			if accept == "text/event-stream" {
				_, answer = s.askFor(token, "POST", "/invocations", `{"prompt":"write it","model":"`+model+`"}`, accept)
				told(fmt.Sprintf("AgentCore of %q as %s", model, accept), answer)
			}
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/models", ""},
		{"GET", "/v1/tools", ""},
		{"POST", "/v1/admin/tenants/a/models", `{"id":"x","provider":"openai","name":"x","credential":{"env":"HOME"}}`},
		{"POST", "/v1/admin/tenants/a/models", `{"id":"x","provider":"openai?base=x","name":"x"}`},
		{"POST", "/v1/admin/tenants/a/agents", `{"id":"x","skills":["../x"]}`},
		{"GET", "/v1/conversations/conv_%00", ""},
		{"GET", "/v1/conversations/..%2f..%2fcanary", ""},
		{"GET", "/v1/conversations?cursor=x'", ""},
	} {
		_, answer := s.ask(token, c.method, c.path, c.body)
		if !strings.Contains(c.path, "canary") {
			told(c.method+" "+c.path, answer)
		}
	}
}
