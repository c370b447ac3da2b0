package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	transcript = regexp.MustCompile("(?s)<!-- transcript: [^\n]*-->\n```\n\\$ make run([^\n]*) \\| cat\n(.*?)```\n<!-- end of transcript -->")
	clock      = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(\w+, `)
	prompt     = regexp.MustCompile(`(?m)^PROMPT \?= (.*)$`)
	runLine    = regexp.MustCompile(`exec \./bin/braid (run .*) "\$\(PROMPT\)"`)
)

// The transcript that a newcomer reads is what the first command shows.
func TestReadmeShowsTheFirstRun(t *testing.T) {
	t.Parallel()
	makefile := page(t, "Makefile")
	byDefault, run := prompt.FindStringSubmatch(makefile), runLine.FindStringSubmatch(makefile)
	if byDefault == nil || run == nil {
		t.Fatal("the Makefile does not say what make run does in a pipe")
	}
	for _, name := range []string{"README.md", "README.ja.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := transcript.FindStringSubmatch(page(t, name))
			if shown == nil {
				t.Fatal("there is no transcript between its marks")
			}
			say := byDefault[1]
			if p, ok := strings.CutPrefix(shown[1], " PROMPT="); ok {
				say = p
			}
			cmd := exec.Command(braid, append(strings.Fields(run[1]), say)...)
			cmd.Dir, cmd.Env = t.TempDir(), environment(t)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got, want := tidied(string(out)), tidied(shown[2]); !slices.Equal(got, want) {
				t.Errorf("the transcript is not what is shown now:\n%s", out)
			}
		})
	}
}

// page gives a file of the repository as text.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tidied makes two transcripts comparable: clocks go on, and of two tools
// either may end first.
func tidied(text string) []string {
	lines := strings.Split(strings.TrimSpace(clock.ReplaceAllString(text, "NOW (")), "\n")
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && strings.HasPrefix(lines[to], "  #") {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	return lines
}
