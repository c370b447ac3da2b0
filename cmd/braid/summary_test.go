package main

import (
	"strings"
	"testing"
)

// A script reads the answer as it is; a person sees what is in it.
func TestAnswerOnly(t *testing.T) {
	t.Parallel()
	const raw = "a\x1b[2J\u202eb"
	for terminal, want := range map[bool]string{false: raw + "\n", true: clean(raw) + "\n"} {
		var b strings.Builder
		a := &answerOnly{out: newOutput(&b), screen: screen{terminal: terminal}}
		if err := a.end(&summary{Text: raw}); err != nil || b.String() != want {
			t.Errorf("terminal %v: %q, %v", terminal, b.String(), err)
		}
	}
}
