package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that failed in a chat is continued with /retry, once another model answers; what was said is still known.
func TestRetryInAChat(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "demo:" + path
	}
	bad := script("bad", "rules:\n  - name: bad\n    reply: never\n    fault: {kind: model_auth}\n")
	good := script("good", "rules:\n  - name: good\n    when: {user: [Ann]}\n    reply: Hello Ann.\n  - name: other\n    reply: Who?\n")
	p, out, errs := testProcess(t, nil, "chat", "--model", bad)
	p.openRef = nil // scripts in files
	p.stdin = strings.NewReader("My name is Ann.\n/retry\n/model " + good + "\n/retry\n/retry\n")
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	if n := strings.Count(errs.String(), "refused the credential"); n != 2 || strings.Count(out.String(), "Hello Ann.") != 1 {
		t.Errorf("it failed %d times, and says\n%s\n%s", n, out, errs)
	}
	if !strings.Contains(errs.String(), "no open run") {
		t.Errorf("what was answered is continued:\n%s", errs)
	}
}
