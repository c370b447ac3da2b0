package claude

import (
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// TestedVersion is the version of the program that this package is tested with.
const TestedVersion = "2.1.332"

// OldestVersion is the first version whose protocol this package speaks in full.
const OldestVersion = "2.1.329"

// Program is an installed program.
type Program struct{ Path string }

// Find looks for the program: at path, or as "claude" on the PATH for none.
func Find(path string) (Program, error) {
	if path == "" {
		path = "claude"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return Program{}, &event.Error{
			Op: op, Kind: event.ErrNotFound, Message: "the program claude is not installed",
			Hint: "Install it with: npm install -g @anthropic-ai/claude-code", Err: err,
		}
	}
	return Program{found}, nil
}

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+\.\d+\.\d+`) })

// Version asks the program for its version. It takes half a minute at most.
func (p Program) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, "--version") //nolint:gosec // that is what it is for
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limitedWriter{w: &out, left: 4 << 10}
	err := cmd.Run()
	version := versionForm().FindString(strings.TrimSpace(out.String()))
	if err != nil || version == "" {
		return "", &event.Error{
			Op: op, Kind: event.ErrUnavailable, Message: "the program does not tell its version",
			Hint: "Run it with --version, and install it anew if that fails.", Err: err,
		}
	}
	return version, nil
}

// Older reports whether version a comes before version b, both in the form 1.2.3. A part that is no number is 0.
func Older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if m, n := part(x, i), part(y, i); m != n {
			return m < n
		}
	}
	return false
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // 0 for what is no number
	return n
}

// limitedWriter drops what is more than left.
type limitedWriter struct {
	w    *bytes.Buffer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	kept := p[:min(len(p), l.left)]
	l.left -= len(kept)
	l.w.Write(kept)
	return len(p), nil
}
