package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The second model answers in the same cycle, and the events say why.
func TestTheNextModelAnswers(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `attempt 1 asks anthropic:claude-sonnet-5-5 input
attempt 1: overloaded; next is openai:qwen3
attempt 2 asks openai:qwen3 fallback
attempt 2 answers: Because of Rayleigh.
completed after 1 cycle, 18 of usage
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
