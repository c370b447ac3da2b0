package printer

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// A pipe gets the answer unchanged; a terminal gets it with visible control characters.
func TestAnswerOnly(t *testing.T) {
	t.Parallel()
	const raw = "a\x1b[2J\u202eb"
	for terminal, want := range map[bool]string{false: raw + "\n", true: term.Clean(raw) + "\n"} {
		var b strings.Builder
		a := &AnswerOnly{Out: term.NewOutput(&b), Screen: term.Screen{Terminal: terminal}}
		if err := a.End(&Summary{Text: raw}); err != nil || b.String() != want {
			t.Errorf("terminal %v: %q, %v", terminal, b.String(), err)
		}
	}
}
