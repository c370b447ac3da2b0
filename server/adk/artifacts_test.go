package adk_test

import (
	"strings"
	"testing"

	wire "github.com/braidrun/braid/wire/adk"
)

// Artifacts are saved by clients and by tools, with versions from 0, and belong to their session or user.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	const files = sessions + "/s/artifacts"
	ask := func(method, path, body, want string) {
		t.Helper()
		if code, got := s.ask(ann, method, path, body); code != 200 || !strings.Contains(got, want) {
			t.Errorf("%s %s: %d %s", method, path, code, got)
		}
	}
	ask("GET", files, "", "[]")
	ask("POST", files, `{"filename":"a/b.txt","artifact":{"text":"one"}}`, `{"version":0,"canonicalUri":"artifact://apps/default/users/ann/sessions/s/artifacts/a%2Fb.txt/versions/0"`)
	ask("POST", files, `{"filename":"a/b.txt","artifact":{"inline_data":{"mime_type":"text/plain","data":"dHdv"}}}`, `"version":1`)
	ask("POST", files, `{"filename":"user:card","artifact":{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}}`, `"canonicalUri":"artifact://apps/default/users/ann/artifacts/user:card/versions/0"`)
	ask("GET", files, "", `["a/b.txt","user:card"]`)
	ask("GET", files+"/a/b.txt", "", `{"inlineData":{"mimeType":"text/plain","data":"dHdv"}}`)
	ask("GET", files+"/a/b.txt?version=0", "", `"data":"b25l"`)
	ask("GET", files+"/a/b.txt/versions", "", "[0,1]")
	ask("GET", files+"/a/b.txt/versions/0", "", `"data":"b25l"`)
	ask("GET", files+"/a/b.txt/versions/1/metadata", "", `"mimeType":"text/plain"`)
	ask("GET", files+"/a/b.txt/versions/metadata", "", `[{"version":0,`)
	code, text := s.ask(ann, "POST", "/run_sse", body("s", `use save_artifact={\"filename\":\"a/b.txt\",\"text\":\"x\"}`))
	events, _ := s.stream(text)
	if code != 200 || len(events) != 3 || events[1].Actions.ArtifactDelta["a/b.txt"] != (wire.Artifact{Version: 2}) {
		t.Errorf("%d %s", code, text)
	}
	ask("GET", files+"/a/b.txt", "", `"data":"eA=="`)
	s.session(ann, "POST", sessions+"/other", "")
	ask("GET", sessions+"/other/artifacts", "", `["user:card"]`)
	ask("DELETE", files+"/a/b.txt", "", "null")
	ask("GET", files, "", `["user:card"]`)
	for name, c := range map[string]struct {
		key, method, path, body string
		code                    int
	}{
		"gone":                {ann, "GET", files + "/a/b.txt", "", 404},
		"gone versions":       {ann, "GET", files + "/a/b.txt/versions", "", 404},
		"no such version":     {ann, "GET", files + "/user:card?version=7", "", 404},
		"no version":          {ann, "GET", files + "/user:card?version=x", "", 400},
		"below 0":             {ann, "GET", files + "/user:card/versions/-1", "", 400},
		"a name that escapes": {ann, "POST", files, `{"filename":"../x","artifact":{"text":"x"}}`, 400},
		"escaped":             {ann, "GET", files + "/..%2F..%2Fx", "", 400},
		"no artifact":         {ann, "POST", files, `{"filename":"x"}`, 400},
		"a call":              {ann, "POST", files, `{"filename":"x","artifact":{"functionCall":{"name":"f"}}}`, 422},
		"metadata":            {ann, "POST", files, `{"filename":"x","artifact":{"text":"x"},"customMetadata":{"a":1}}`, 422},
		"another tenant":      {bob, "GET", files, "", 404},
		"another user":        {"Bearer key acme/eve", "GET", files + "/user:card", "", 404},
		"another session":     {ann, "GET", sessions + "/nowhere/artifacts", "", 404},
		"for reading":         {"Bearer key acme/reader", "POST", files, `{}`, 403},
	} {
		if code, got := s.ask(c.key, c.method, c.path, c.body); code != c.code {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
}
