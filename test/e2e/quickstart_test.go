package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// typed is a command of a page, and what the page says comes of it.
type typed struct {
	line  string
	fails bool
	want  []string
}

// console reads the blocks of a page that begin with ```console.
func console(t *testing.T, page string) (list []typed) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	in := false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "```console":
			in = true
		case line == "```":
			in = false
		case in && strings.HasPrefix(line, "$ "):
			command, fails := strings.CutPrefix(line[2:], "! ")
			list = append(list, typed{line: command, fails: fails})
		case in && len(list) > 0:
			list[len(list)-1].want = append(list[len(list)-1].want, line)
		}
	}
	return list
}

// shows reports whether an output is what a page says: "…" is any text on a line, and a line of
// nothing else any number of lines.
func shows(want []string, got string) bool {
	pattern := ""
	for _, line := range want {
		if line == "…" {
			pattern += `(?:.*\n)*`
			continue
		}
		pattern += strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`
	}
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got)
}

// Every command of the page does what the page says.
func TestQuickstartOfTenants(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := startServer(t, filepath.Join(folder, "data"), "--log", "none")
	const usual = "http://127.0.0.1:7421"
	exported := []string{"BRAID_SERVER=" + server.url, "PATH=" + filepath.Dir(braid) + string(filepath.ListSeparator) + os.Getenv("PATH")}
	list := console(t, filepath.Join("..", "..", "docs", "guide", "tenants-quickstart.md"))
	if len(list) < 20 {
		t.Fatalf("the page has %d commands", len(list))
	}
	for _, c := range list {
		if set, ok := strings.CutPrefix(c.line, "export "); ok {
			exported = append(exported, set)
			continue
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(c.line, usual, server.url))
		cmd.Dir, cmd.Env = folder, append(environment(t), exported...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if got := out.String() + errs.String(); (err != nil) != c.fails || !shows(c.want, got) {
			t.Fatalf("%s: %v, and not what the page says:\n%s", c.line, err, got)
		}
	}
}
