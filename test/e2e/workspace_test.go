package e2e

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfAServersConversations uploads a file, has the agent change it, and reads it after the server was killed.
func TestFilesOfAServersConversations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte(`rules:
  - name: change
    when: {round: 1, user: change, tool: edit}
    reply:
      - call: edit
        args: {path: notes/a.txt, old: one, new: two}
      - call: write
        args: {path: new.txt, content: by the agent}
  - name: look
    when: {round: 1, user: look}
    reply:
      - call: list
        args: {}
  - name: end
    when: {round: any}
    reply: I see ${result}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--model", "demo:" + script, "--workspaces"}
	s := startServer(t, filepath.Join(dir, "data"), args...)
	conv, other := s.json(201, "POST", "/v1/conversations", "")["id"].(string), s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	file := func(conv, path string) string { return "/v1/conversations/" + conv + "/files/content?path=" + path }
	if res := s.ask("PUT", file(conv, "notes/a.txt"), "one"); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	run := func(conv, text string) string {
		t.Helper()
		answer := s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"`+text+`"}`, "Accept", "application/json")
		return answer["result"].(string)
	}
	run(conv, "change")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait()
	s = startServer(t, filepath.Join(dir, "data"), args...)
	for path, want := range map[string]string{"notes/a.txt": "two", "new.txt": "by the agent"} {
		body, err := io.ReadAll(s.ask("GET", file(conv, path), "").Body)
		if err != nil || string(body) != want {
			t.Errorf("%s holds %q, %v", path, body, err)
		}
	}
	if got := run(conv, "look"); !strings.Contains(got, "new.txt (12 bytes)") || !strings.Contains(got, "notes/a.txt (3 bytes)") {
		t.Errorf("the agent sees %q", got)
	}
	if got := run(other, "look"); !strings.Contains(got, "(no files)") {
		t.Errorf("the agent of another conversation sees %q", got)
	}
}
