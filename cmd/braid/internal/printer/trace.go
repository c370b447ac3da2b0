package printer

import (
	"fmt"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/trace"
)

// traceLine formats an event for the trace: the reason and cost of each cycle, the end of each call, and
// the reason the run ended. Each line has words and name=value pairs, for grep. It returns "" for all other
// events. number returns the number of a tool call.
func traceLine(e *event.Event, number func(call string) int) string {
	where := fmt.Sprintf("[cycle %d]", e.Cycle)
	if e.Scope != "" {
		where = fmt.Sprintf("[%s cycle %d]", term.CleanLine(e.Author), e.Cycle)
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if b.Step == event.StepCompaction {
			return fmt.Sprintf("%s compaction began why=%s model=%s", where, b.Why, term.CleanLine(b.Model))
		}
		if b.Step != event.StepModel {
			return ""
		}
		attempt := ""
		if e.Attempt > 1 {
			attempt = fmt.Sprintf(" attempt=%d", e.Attempt)
		}
		return fmt.Sprintf("%s began why=%s%s model=%s", where, b.Why, attempt, term.CleanLine(b.Model))
	case *event.AssistantMessage:
		if b.Piece {
			return ""
		}
		return fmt.Sprintf("%s ended stop=%s %s latency=%s ttfb=%s",
			where, term.CleanLine(string(b.Stop)), UsageWords(b.Usage), Short(b.Latency), Short(b.TimeToFirstByte))
	case *event.StepEnded:
		return where + " " + stepWords(e, b, number)
	case *event.Asked:
		return fmt.Sprintf("%s waits why=%s for=%s tool=#%d:%s", where, event.WhyWaiting, b.Ask, number(b.Call), term.CleanLine(b.Tool))
	case *event.Answered:
		return where + " answered"
	case *event.ScopeOpened:
		line := fmt.Sprintf("[scope %s] began agent=%s", term.CleanLine(b.ID), term.CleanLine(b.Agent))
		if b.Node != "" {
			line += " node=" + term.CleanLine(b.Node)
		}
		if e.Branch != "" {
			line += " branch=" + term.CleanLine(e.Branch)
		}
		return line
	case *event.Transferred:
		return fmt.Sprintf("%s transferred from=%s to=%s", where, term.CleanLine(b.From), term.CleanLine(b.To))
	case *event.ScopeClosed:
		return fmt.Sprintf("[scope %s] ended why=%s stop=%s", term.CleanLine(b.ID), b.Why, term.CleanLine(string(b.Stop)))
	case *event.RunEnded:
		err := ""
		if b.Err != nil {
			err = " error=" + string(term.KindOf(b.Err))
		}
		return fmt.Sprintf("[run] ended status=%s why=%s stop=%s%s cycles=%d %s duration=%s",
			b.Status, b.Why, term.CleanLine(string(b.Stop)), err, b.Cycles, UsageWords(b.Usage), Short(b.Duration))
	}
	return ""
}

// stepWords describes the end of a tool call, or of a model call without a message.
func stepWords(e *event.Event, b *event.StepEnded, number func(string) int) string {
	words := []string{"ended", string(b.Step), "call"}
	if b.Result != nil {
		words = []string{fmt.Sprintf("tool=#%d:%s", number(b.Result.Call), term.CleanLine(b.Result.Name))}
	}
	words = append(words, "outcome="+string(b.Outcome))
	if b.Result != nil && b.Result.IsError {
		words = append(words, "error=shown_to_the_model")
	}
	if b.Err != nil {
		words = append(words, "error="+string(term.KindOf(b.Err)))
	}
	if b.EndTurn {
		words = append(words, "end_turn=true")
	}
	switch {
	case b.Fallback != "":
		words = append(words, "fallback="+term.CleanLine(b.Fallback))
	case !b.RetryAt.IsZero():
		words = append(words, "retry_in="+Short(max(b.RetryAt.Sub(e.Time), 0)))
	}
	return strings.Join(append(words, "duration="+Short(b.Duration)), " ")
}

// UsageWords formats token counts.
func UsageWords(u event.Usage) string {
	w := fmt.Sprintf("in=%d out=%d total=%d", u.Input, u.Output, u.Total)
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		w += fmt.Sprintf(" cache_read=%d cache_write=%d", u.CacheRead, u.CacheWrite)
	}
	if u.Reasoning > 0 {
		w += fmt.Sprintf(" reasoning=%d", u.Reasoning)
	}
	return w
}

// Tracer prints only the trace, for stderr.
type Tracer struct {
	out    *term.Output
	screen term.Screen
	tools  numbers
	tree   trace.Tree
}

// NewTracer returns a Tracer that writes to out.
func NewTracer(out *term.Output, s term.Screen) *Tracer {
	return &Tracer{out: out, screen: s, tools: numbers{}}
}

// Event implements [Printer].
func (t *Tracer) Event(e *event.Event) error {
	t.tree.Add(e)
	if m, ok := e.Body.(*event.AssistantMessage); ok {
		for _, c := range event.CallsOf(m.Content) {
			t.tools.of(c.ID)
		}
	}
	if line := traceLine(e, t.tools.of); line != "" {
		t.out.Buf = t.screen.Paint(t.out.Buf, term.Cyan, line)
		t.out.Buf = append(t.out.Buf, '\n')
	}
	return t.out.Flush()
}

// End implements [Printer].
func (t *Tracer) End(sum *Summary) error {
	for _, line := range traceLines(t.tree.Root(), sum) {
		t.out.Buf = t.screen.Paint(t.out.Buf, term.Cyan, line)
		t.out.Buf = append(t.out.Buf, '\n')
	}
	return t.out.Flush()
}

// numbers tool calls from 1, in the order of their first use.
type numbers map[string]int

// of returns the number of a call.
func (n numbers) of(call string) int {
	if i, ok := n[call]; ok {
		return i
	}
	n[call] = len(n) + 1
	return len(n)
}
