package printer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/trace"
)

// traceTree formats a run's tree of spans, one line each: its name, duration and end. It follows the lines
// of [traceLine].
func traceTree(root *trace.Span) []string {
	if root == nil {
		return nil
	}
	var lines []string
	var tell func(s *trace.Span, depth int)
	tell = func(s *trace.Span, depth int) {
		lines = append(lines, strings.Repeat("  ", depth)+spanWords(s))
		for _, c := range s.Children {
			tell(c, depth+1)
		}
	}
	tell(root, 0)
	return lines
}

// spanWords formats one span.
func spanWords(s *trace.Span) string {
	words := []string{string(s.Kind)}
	if s.Kind == trace.Cycle {
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
	if s.Kind != trace.Model {
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

// traceLines returns the lines after a traced run: its tree, and the sums of its tools.
func traceLines(root *trace.Span, sum *Summary) []string {
	lines := traceTree(root)
	for i := range sum.Tools {
		lines = append(lines, toolWords(&sum.Tools[i]))
	}
	return lines
}

// toolWords formats the sums of one tool.
func toolWords(m *ToolCount) string {
	return fmt.Sprintf("[tools] %s calls=%d errors=%d time=%s", term.CleanLine(m.Name), m.Calls, m.Errors, Short(m.Time))
}
