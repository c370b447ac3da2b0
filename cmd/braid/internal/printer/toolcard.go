package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// A card shows one tool call in two pieces, because several calls may run at once: the head with the
// arguments when the model requests the call, the foot with the result when it ends. Both have the call's
// number. A card has no right edge, so wide characters cannot break its frame.

// cardLines is the maximum of lines for arguments or a result.
const cardLines = 8

// marks are the symbols of a transcript.
type marks struct {
	head, body, foot, more  string
	thought, good, bad, gap string
}

var (
	symbolMarks = marks{
		head: "╭ ", body: "│ ", foot: "╰ ", more: "  ",
		thought: "┊ ", good: " ✓ ", bad: " ✗ ", gap: " · ",
	}
	plainMarks = marks{
		head: "", body: "  ", foot: "  ", more: "    ",
		thought: "~ ", good: ": ", bad: " failed: ", gap: ", ",
	}
)

func (l Look) marks() marks {
	if l.Symbols {
		return symbolMarks
	}
	return plainMarks
}

// callCard prints the head: "Tool #1: name" and the arguments.
func (s *Transcript) callCard(c *event.ToolCall, depth int) {
	m := s.Look.marks()
	title := fmt.Sprintf("Tool #%d: %s", s.tools.of(c.ID), term.CleanLine(c.Name))
	s.cardLine(depth, m.head, term.Bold, title)
	args := ArgumentLines(c)
	for i, line := range args {
		if i == cardLines && len(args) > cardLines+1 {
			s.cardLine(depth, m.body, term.Dim, fmt.Sprintf("… %d more", len(args)-i))
			break
		}
		s.cardLine(depth, m.body, term.Plain, line)
	}
}

// resultCard prints the foot: the call's number and its result.
func (s *Transcript) resultCard(b *event.StepEnded, depth int) {
	m := s.Look.marks()
	var name, call string
	if b.Result != nil {
		name, call = b.Result.Name, b.Result.Call
	}
	head := fmt.Sprintf("#%d", s.tools.of(call))
	if name != "" {
		head += " " + term.CleanLine(name)
	}
	text, failed := resultText(b)
	st, sign := term.Green, m.good
	if failed {
		st, sign = term.Red, m.bad
	}
	lines := strings.Split(strings.TrimRight(term.Clean(text), "\n"), "\n")
	took := ""
	if s.Look.Terminal && b.Duration > 0 {
		took = m.gap + Short(b.Duration)
	}
	// The mark has a colour, so the line is built here. The text is cut so that the duration fits on the
	// line.
	indent := strings.Repeat("  ", depth)
	room := s.Look.Width - len(indent) - term.Width(m.foot+head+sign+took)
	s.out.StartLine()
	s.out.Buf = append(s.out.Buf, indent...)
	s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, m.foot)
	s.out.Buf = append(s.out.Buf, head...)
	s.out.Buf = s.Look.Paint(s.out.Buf, st, sign)
	s.out.Buf = append(s.out.Buf, term.Fit(strings.ReplaceAll(lines[0], "\t", " "), max(room, 10))...)
	s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, took)
	s.out.Buf = append(s.out.Buf, '\n')
	for i, line := range lines[1:] {
		if i == cardLines-1 && len(lines) > cardLines+1 {
			s.cardLine(depth, m.more, term.Dim, fmt.Sprintf("… %d more lines", len(lines)-cardLines))
			break
		}
		s.cardLine(depth, m.more, term.Plain, line)
	}
}

// progress prints a progress message of a running tool.
func (s *Transcript) progress(b *event.ToolProgress, depth int) {
	s.cardLine(depth, s.Look.marks().body, term.Dim, fmt.Sprintf("#%d %s", s.tools.of(b.Call), OneLine(term.Clean(b.Text))))
}

// cardLine prints one line of a card, cut to the width of the screen.
func (s *Transcript) cardLine(depth int, mark string, st term.Style, text string) {
	indent := strings.Repeat("  ", depth)
	s.out.StartLine()
	s.out.Buf = append(s.out.Buf, indent...)
	s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, mark)
	text = term.Fit(strings.ReplaceAll(text, "\t", " "), max(s.Look.Width-len(indent)-term.Width(mark), 10))
	s.out.Buf = s.Look.Paint(s.out.Buf, st, text)
	s.out.Buf = append(s.out.Buf, '\n')
}

// ArgumentLines returns a call's arguments as "name: value", in their order.
func ArgumentLines(c *event.ToolCall) []string {
	if c.Invalid != "" {
		return []string{"not JSON: " + term.CleanLine(c.Invalid)}
	}
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 || args[0] != '{' {
		if len(args) == 0 || string(args) == "null" {
			return nil
		}
		return []string{term.CleanLine(string(args))}
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	if _, err := dec.Token(); err != nil {
		return []string{term.CleanLine(string(args))}
	}
	var lines []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return []string{term.CleanLine(string(args))}
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return []string{term.CleanLine(string(args))}
		}
		lines = append(lines, term.CleanLine(fmt.Sprint(key))+": "+valueLine(value))
	}
	return lines
}

// valueLine returns a JSON value on one line, a string without its quotes.
func valueLine(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && len(v) > 0 && v[0] == '"' {
		return term.CleanLine(s)
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return term.CleanLine(string(v))
	}
	return term.CleanLine(b.String())
}

// resultText returns the text of a call's result, and whether the call failed.
func resultText(b *event.StepEnded) (text string, failed bool) {
	switch b.Outcome {
	case event.OutcomeCancelled:
		if b.Err != nil && b.Err.Kind == event.ErrPermission && b.Result != nil {
			return "cancelled: " + ContentText(b.Result.Content), true
		}
		return "cancelled", true
	case event.OutcomeStraggler:
		return "did not stop in time and was left behind", true
	case event.OutcomeInDoubt:
		return "in doubt: it may or may not have happened", true
	}
	if r := b.Result; r != nil {
		text, failed = ContentText(r.Content), r.IsError
		if text == "" {
			text = string(r.Structured)
		}
	}
	text = strings.TrimPrefix(text, "Error: ") // the card shows the failure itself
	if text == "" && b.Err != nil {
		text, _ = term.Describe(b.Err)
	}
	failed = failed || b.Outcome == event.OutcomeFailed
	if text == "" && !failed {
		text = "done"
	}
	return text, failed
}

// ContentText returns the text of blocks, with a placeholder for each other block.
func ContentText(blocks []event.Block) string {
	var parts []string
	for _, b := range blocks {
		switch c := b.(type) {
		case *event.Text:
			parts = append(parts, c.Text)
		default:
			parts = append(parts, "["+strings.ReplaceAll(string(b.BlockKind()), "_", " ")+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// Short formats a duration with the digits that matter to a reader.
func Short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

// firstWordsWidth is the maximum width of a conversation's first words.
const firstWordsWidth = 200

// FirstWords returns the beginning of a message on one line.
func FirstWords(blocks []event.Block) string {
	return term.Fit(strings.Join(strings.Fields(term.Clean(ContentText(blocks))), " "), firstWordsWidth)
}
