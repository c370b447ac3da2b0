package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// what is the same on every provider.
var want = []string{
	"run_started",
	"user_message What is 3 + 5?",
	"step_begun model, attempt 1",
	"text_delta I add 3 and 5.",
	"tool_input_delta",
	`assistant_message tool_use, 40 tokens in, 20 out: I add 3 and 5. add{"a":3,"b":5}`,
	"step_begun tool add, attempt 1",
	"step_ended done add: 8",
	"step_begun model, attempt 1",
	"text_delta 3 + 5 = 8.",
	"assistant_message end_turn, 75 tokens in, 9 out: 3 + 5 = 8.",
	"run_ended completed, end_turn, 2 cycles, 115 tokens in, 29 out",
}

// The agent's events are the same on each provider: only the model was changed.
func TestTheSameEvents(t *testing.T) {
	t.Parallel()
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			got, err := story(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestRunPrintsEachProvider(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		if !strings.Contains(out.String(), p.name+"\n    run_started\n") {
			t.Errorf("nothing of %s in\n%s", p.name, out.String())
		}
	}
}
