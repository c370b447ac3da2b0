package printer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// traceTree tells a run's tree of spans, one line each: what it was, how long it took, and how
// it ended. It stands behind the lines of [traceLine], which tell the same as it happens.
func traceTree(root *braid.Span) []string {
	if root == nil {
		return nil
	}
	var lines []string
	var tell func(s *braid.Span, depth int)
	tell = func(s *braid.Span, depth int) {
		lines = append(lines, strings.Repeat("  ", depth)+spanWords(s))
		for _, c := range s.Children {
			tell(c, depth+1)
		}
	}
	tell(root, 0)
	return lines
}

// spanWords is one line of the tree.
func spanWords(s *braid.Span) string {
	words := []string{string(s.Kind)}
	if s.Kind == braid.SpanCycle {
		words = append(words, strconv.Itoa(s.Cycle))
	} else if s.Name != "" {
		words = append(words, term.CleanLine(s.Name))
	}
	words = append(words, Short(s.Duration))
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+"="+term.CleanLine(value))
		}
	}
	if s.Attempt > 1 {
		add("attempt", strconv.Itoa(s.Attempt))
	}
	if s.Kind != braid.SpanModel {
		add("why", string(s.Why))
	}
	add("stop", string(s.Stop))
	add("outcome", string(s.Outcome))
	add("error", string(s.Error))
	if s.TimeToFirstByte > 0 {
		add("ttfb", Short(s.TimeToFirstByte))
	}
	if s.Usage.Input+s.Usage.Output+s.Usage.Total > 0 {
		words = append(words, UsageWords(s.Usage))
	}
	if s.Open {
		words = append(words, "open")
	}
	return strings.Join(words, " ")
}

// traceLines is what stands behind a traced run: its tree, and what its tools came to.
func traceLines(root *braid.Span, sum *Summary) []string {
	lines := traceTree(root)
	for i := range sum.Tools {
		lines = append(lines, toolWords(&sum.Tools[i]))
	}
	return lines
}

// toolWords tell what the calls of one tool came to.
func toolWords(m *ToolCount) string {
	return fmt.Sprintf("[tools] %s calls=%d errors=%d time=%s", term.CleanLine(m.Name), m.Calls, m.Errors, Short(m.Time))
}
