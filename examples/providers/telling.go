package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
)

// telling puts events into lines: their kinds in order, and what they say that does
// not depend on the moment. Pieces of one text stand in one line.
type telling struct {
	lines []string
	last  event.Kind
}

func (t *telling) hear(e *event.Event) {
	kind := e.Body.Kind()
	switch b := e.Body.(type) {
	case *event.TextDelta:
		t.live(kind, b.Text)
	case *event.ToolInputDelta:
		t.live(kind, "") // how arguments are cut is the vendor's affair
	case *event.UserMessage:
		t.say(kind, event.TextOf(b.Content))
	case *event.AssistantMessage:
		t.say(kind, fmt.Sprintf("%s, %d tokens in, %d out: %s", b.Stop, b.Usage.Input, b.Usage.Output, shown(b.Content)))
	case *event.StepBegun:
		t.say(kind, fmt.Sprintf("%s, attempt %d", strings.TrimSpace(string(b.Step)+" "+b.Tool), e.Attempt))
	case *event.StepEnded:
		if b.Result == nil {
			t.say(kind, fmt.Sprintf("%s: %v", b.Outcome, b.Err))
		} else {
			t.say(kind, fmt.Sprintf("%s %s: %s", b.Outcome, b.Result.Name, event.TextOf(b.Result.Content)))
		}
	case *event.RunEnded:
		t.say(kind, fmt.Sprintf("%s, %s, %d cycles, %d tokens in, %d out", b.Status, b.Stop, b.Cycles, b.Usage.Input, b.Usage.Output))
	default:
		t.say(kind, "")
	}
	t.last = kind
}

func (t *telling) say(kind event.Kind, text string) {
	line := string(kind)
	if text != "" {
		line += " " + text
	}
	t.lines = append(t.lines, line)
}

// live adds a piece to the line of the pieces before it.
func (t *telling) live(kind event.Kind, text string) {
	if t.last != kind {
		t.say(kind, text)
		return
	}
	t.lines[len(t.lines)-1] += text
}

// shown is what an answer holds: arguments count as their value.
func shown(content []event.Block) string {
	var parts []string
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			parts = append(parts, b.Text)
		case *event.ToolCall:
			args := &bytes.Buffer{}
			if json.Compact(args, b.Args) != nil {
				args.WriteString("?")
			}
			parts = append(parts, b.Name+args.String())
		default:
			parts = append(parts, string(b.BlockKind()))
		}
	}
	return strings.Join(parts, " ")
}
