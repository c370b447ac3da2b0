package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/model/demo"
)

// Recordings hide the environment's keys, known by their names, and keep other values.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, map[string]string{
		"ODD_API_KEY": "blue-elephant", "MY_SECRET_WORD": "green-giraffe", "DB_PASSWORD": "red-rabbit", "SHORT_KEY": "us", "KEYBOARD": "dvorak-keys", "LANG": "en_GB.UTF-8",
	})
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {
		"far": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${MY_SECRET_WORD}", "X-Own": "pink-panther"}},
		"near": {"command": "x", "env": {"TEAM_PAT": "grey-goose", "MODE": "a-long-mode"}}
	}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ mcp, want string }{
		"the environment": {"", "blue-elephant green-giraffe red-rabbit"},
		"tool servers":    {file, "Bearer green-giraffe blue-elephant green-giraffe grey-goose pink-panther red-rabbit"},
		"no such file":    {file + "2", "blue-elephant green-giraffe red-rabbit"},
	} {
		var found []string
		for _, s := range p.secrets(&conf.Settings{AgentSettings: conf.AgentSettings{MCP: c.mcp}}) {
			found = append(found, s.Reveal())
		}
		slices.Sort(found)
		if got := strings.Join(slices.Compact(found), " "); got != c.want {
			t.Errorf("%s: found %s", name, got)
		}
	}
}

// Recordings hide the environment's keys. A second model of the same chat is in the same recording.
func TestAChatIsRecorded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	models := func(ref string) (braid.Model, error) {
		return demo.New(demo.Replies(strings.TrimPrefix(ref, "demo:"), []demo.Piece{demo.Say("I know blue-elephant. I am " + ref + ".")}))
	}
	run := func(stdin string, args ...string) (string, string, int) {
		p, out, errs := testProcess(t, map[string]string{"ODD_API_KEY": "blue-elephant"}, args...)
		p.Stdin, p.openRef = strings.NewReader(stdin), models
		code := p.run(t.Context())
		return out.String(), errs.String(), code
	}
	const turns = "hi, blue-elephant\n/model demo:two\nand you?\n"
	if out, errs, code := run(turns, "chat", "-q", "-m", "demo:one", "--ephemeral", "--record", path); code != 0 || !strings.Contains(out, "I am demo:two.") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "elephant") || !strings.Contains(string(text), `"name":"demo:two"`) {
		t.Errorf("%v: %s", err, text)
	}
	out, errs, code := run(turns, "chat", "--replay", path)
	if code != 0 || !strings.Contains(out, "I know [redacted]. I am demo:one.") || !strings.Contains(out, "I am demo:two.") || strings.Contains(errs, "more that nobody asked") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if out, errs, code = run(strings.Replace(turns, "two", "three", 1), "chat", "-q", "--replay", path); !strings.Contains(errs, "it has those of demo:one, demo:two") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
