package house

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
	makefile := read(t, "Makefile")
	byDefault, run := prompt.FindStringSubmatch(makefile), runLine.FindStringSubmatch(makefile)
	if byDefault == nil || run == nil {
		t.Fatal("the Makefile does not say what make run does in a pipe")
	}
	program := filepath.Join(t.TempDir(), "braid")
	build := exec.Command("go", "build", "-o", program, "./cmd/braid")
	build.Dir = top(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range []string{"README.md", "README.ja.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			shown := transcript.FindStringSubmatch(read(t, page))
			if shown == nil {
				t.Fatal("there is no transcript between its marks")
			}
			say := byDefault[1]
			if p, ok := strings.CutPrefix(shown[1], " PROMPT="); ok {
				say = p
			}
			home := t.TempDir()
			cmd := exec.Command(program, append(strings.Fields(run[1]), say)...)
			cmd.Dir = home
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home}
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
