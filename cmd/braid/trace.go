package main

import (
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// traceLine tells for each cycle why the loop went on to it, what it cost and
// how it ended, how each call ended, and at last why the run ended: one line
// each, as words and name=value, fit for grep. "" where an event says none of
// it. number gives a tool call its number.
func traceLine(e *event.Event, number func(call string) int) string {
	where := fmt.Sprintf("[cycle %d]", e.Cycle)
	if e.Scope != "" {
		where = fmt.Sprintf("[%s cycle %d]", cleanLine(e.Author), e.Cycle)
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if b.Step == event.StepCompaction {
			return fmt.Sprintf("%s compaction began why=%s model=%s", where, b.Why, cleanLine(b.Model))
		}
		if b.Step != event.StepModel {
			return ""
		}
		attempt := ""
		if e.Attempt > 1 {
			attempt = fmt.Sprintf(" attempt=%d", e.Attempt)
		}
		return fmt.Sprintf("%s began why=%s%s model=%s", where, b.Why, attempt, cleanLine(b.Model))
	case *event.AssistantMessage:
		if b.Piece {
			return ""
		}
		return fmt.Sprintf("%s ended stop=%s %s latency=%s ttfb=%s",
			where, cleanLine(string(b.Stop)), usageWords(b.Usage), short(b.Latency), short(b.TimeToFirstByte))
	case *event.StepEnded:
		return where + " " + stepWords(e, b, number)
	case *event.Asked:
		return fmt.Sprintf("%s waits why=%s for=%s tool=#%d:%s", where, event.WhyWaiting, b.Ask, number(b.Call), cleanLine(b.Tool))
	case *event.Answered:
		return where + " answered"
	case *event.ScopeClosed:
		return fmt.Sprintf("[scope %s] ended why=%s stop=%s", cleanLine(b.ID), b.Why, cleanLine(string(b.Stop)))
	case *event.RunEnded:
		err := ""
		if b.Err != nil {
			err = " error=" + string(kindOf(b.Err))
		}
		return fmt.Sprintf("[run] ended status=%s why=%s stop=%s%s cycles=%d %s duration=%s",
			b.Status, b.Why, cleanLine(string(b.Stop)), err, b.Cycles, usageWords(b.Usage), short(b.Duration))
	}
	return ""
}

// stepWords describes the end of a tool call, or of a model call that gave no message.
func stepWords(e *event.Event, b *event.StepEnded, number func(string) int) string {
	words := []string{"ended", string(b.Step), "call"}
	if b.Result != nil {
		words = []string{fmt.Sprintf("tool=#%d:%s", number(b.Result.Call), cleanLine(b.Result.Name))}
	}
	words = append(words, "outcome="+string(b.Outcome))
	if b.Result != nil && b.Result.IsError {
		words = append(words, "error=shown_to_the_model")
	}
	if b.Err != nil {
		words = append(words, "error="+string(kindOf(b.Err)))
	}
	if b.EndTurn {
		words = append(words, "end_turn=true")
	}
	switch {
	case b.Fallback != "":
		words = append(words, "fallback="+cleanLine(b.Fallback))
	case !b.RetryAt.IsZero():
		words = append(words, "retry_in="+short(max(b.RetryAt.Sub(e.Time), 0)))
	}
	return strings.Join(append(words, "duration="+short(b.Duration)), " ")
}

// usageWords are the tokens of a call or a run.
func usageWords(u event.Usage) string {
	w := fmt.Sprintf("in=%d out=%d total=%d", u.Input, u.Output, u.Total)
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		w += fmt.Sprintf(" cache_read=%d cache_write=%d", u.CacheRead, u.CacheWrite)
	}
	if u.Reasoning > 0 {
		w += fmt.Sprintf(" reasoning=%d", u.Reasoning)
	}
	return w
}

// tracer prints the trace alone, where the output belongs to something else.
type tracer struct {
	out    *output
	screen screen
	tools  numbers
	tree   braid.Trace
}

func newTracer(out *output, s screen) *tracer { return &tracer{out: out, screen: s, tools: numbers{}} }

// event implements [printer].
func (t *tracer) event(e *event.Event) error {
	t.tree.Add(e)
	if m, ok := e.Body.(*event.AssistantMessage); ok {
		for _, c := range event.CallsOf(m.Content) {
			t.tools.of(c.ID)
		}
	}
	if line := traceLine(e, t.tools.of); line != "" {
		t.out.buf = t.screen.paint(t.out.buf, cyan, line)
		t.out.buf = append(t.out.buf, '\n')
	}
	return t.out.flush()
}

// end implements [printer].
func (t *tracer) end(sum *summary) error {
	for _, line := range traceLines(t.tree.Root(), sum) {
		t.out.buf = t.screen.paint(t.out.buf, cyan, line)
		t.out.buf = append(t.out.buf, '\n')
	}
	return t.out.flush()
}

// numbers counts tool calls over a conversation, from 1, in the order in which
// they are first seen.
type numbers map[string]int

// of gives a call its number, the same whenever it is asked.
func (n numbers) of(call string) int {
	if i, ok := n[call]; ok {
		return i
	}
	n[call] = len(n) + 1
	return len(n)
}
