package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Below a base path is every door of the server, and beside it nothing.
func TestBelowABasePath(t *testing.T) {
	t.Parallel()
	const base = "/some/braid"
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir, "--base-path", base+"/", "--agentcore", "--model", "demo")
	root, ok := strings.CutSuffix(s.url, base)
	if !ok {
		t.Fatalf("it serves on %s", s.url)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(s.ask("GET", "/openapi.json", "").Body).Decode(&doc); err != nil || len(doc.Paths) < 30 {
		t.Fatalf("%v: the document has %d paths", err, len(doc.Paths))
	}
	conv := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	parameter := regexp.MustCompile(`\{\w+\}`)
	asks := map[string][]string{
		"/": {"GET"}, "/page.js": {"GET"}, "/stream.js": {"GET"}, "/style.css": {"GET"}, // the page for people
		"/ping": {"GET"}, "/invocations": {"POST"}, "/runtimes/arn/invocations": {"POST"},
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			asks[path] = append(asks[path], strings.ToUpper(method))
		}
	}
	for path, methods := range asks {
		for _, method := range methods {
			path := parameter.ReplaceAllString(path, conv)
			// Without a credential a path that there is asks for one, or is open to all.
			res := s.ask(method, path, "", "Authorization", "")
			if res.StatusCode != 200 && res.StatusCode != 401 && res.StatusCode != 403 {
				body, _ := io.ReadAll(res.Body) // it is told
				t.Errorf("%s %s%s: %s %s", method, base, path, res.Status, body)
			}
			for _, at := range []string{root, root + "/some", root + "/some/braidx", s.url + base} {
				other := *s
				other.url = at
				if res := other.ask(method, path, ""); res.StatusCode != 404 {
					t.Errorf("%s %s%s: %s", method, strings.TrimPrefix(at, root), path, res.Status)
				}
			}
		}
	}
	// The console finds what it is made of, and the agent, beside itself.
	page, err := io.ReadAll(s.ask("GET", "/", "", "Authorization", "").Body)
	if err != nil || !strings.Contains(string(page), `src="page.js"`) || strings.Contains(string(page), `src="/`) || strings.Contains(string(page), `href="/`) {
		t.Errorf("%v: the page is\n%s", err, page)
	}
	if body, err := io.ReadAll(s.ask("POST", "/invocations", `{"prompt":"What is 6 times 7?"}`).Body); err != nil || !strings.Contains(string(body), "42") {
		t.Errorf("AgentCore's door: %v: %s", err, body)
	}
	// What the server says of itself is below it, too.
	made := s.ask("POST", "/v1/conversations", "")
	at := made.Header.Get("Location")
	if made.StatusCode != http.StatusCreated || !strings.HasPrefix(at, base+"/v1/conversations/conv_") {
		t.Errorf("a conversation is made at %q: %s", at, made.Status)
	}
	run := s.json(202, "POST", strings.TrimPrefix(at, base)+"/runs", `{"user_input":"hello"}`, "Prefer", "respond-async")
	if to, _ := run["stream"].(string); !strings.HasPrefix(to, base+"/v1/") {
		t.Errorf("its stream is at %q", to)
	}
	s.tells()
	keys := []string{"AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(dir, "aws-credentials"), "AWS_PROFILE=default", "AWS_EC2_METADATA_DISABLED=true"}
	const arn = "arn:aws:bedrock-agentcore:us-east-1:000000000000:runtime/braid-0000000000"
	for name, a := range map[string]said{
		"with the token": tell(t, []string{"BRAID_TOKEN=" + s.token}, "agentcore", "invoke", "--url", s.url, "What is 6 times 7?"),
		"signed":         tell(t, keys, "agentcore", "invoke", "--url", s.url, "--arn", arn, "What is 6 times 7?"),
	} {
		if a.exit != 0 || !strings.Contains(a.out, "42") {
			t.Errorf("braid agentcore invoke %s: %+v", name, a)
		}
	}
}

// A base that is none is refused at the start.
func TestBasePathsThatAreNone(t *testing.T) {
	t.Parallel()
	cases := map[string]refusal{
		"inside AgentCore": {args: []string{"--base-path", "/braid", "--agentcore", "--trust-platform"}, exit: 2, says: "platform calls its own paths"},
	}
	for _, base := range []string{"braid", "/a//b", "/a/../b", "/{x}", "/a b", "/%2f", "/a?b", "//"} {
		cases[base] = refusal{args: []string{"--base-path", base}, exit: 2, says: "base path is not one"}
	}
	serveRefuses(t, cases)
}
