package main

import (
	"strings"
	"testing"
)

// With --trace a run prints why each cycle continued, its tree and its usage; without it, none of them.
func TestRunWithATrace(t *testing.T) {
	t.Parallel()
	for _, traced := range []bool{true, false} {
		args := []string{"run", "-m", "demo:assistant", "What is 6 times 7?"}
		if traced {
			args = append(args, "--trace")
		}
		p, out, errs := testProcess(t, nil, args...)
		if code := p.run(t.Context()); code != 0 {
			t.Fatalf("%d: %s", code, errs)
		}
		for _, line := range []string{
			"[cycle 1] began why=input", "[cycle 2] began why=tool_results", "[run] ended status=completed why=end_turn",
			"\nrun assistant ", "\n  cycle 2 ", "\n    model demo:assistant ", "\n    tool calculator ",
		} {
			if strings.Contains(out.String(), line) != traced {
				t.Errorf("with a trace %t: %q is there or not\n%s", traced, line, out)
			}
		}
	}
}
