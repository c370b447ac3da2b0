package main

import (
	"bytes"
	"fmt"

	"github.com/braidrun/braid/event"
)

// reader prints a run while it happens: the text piece by piece as the model says it,
// and a line with its number for each tool that the model asks for. It is what a
// printing callback handler is elsewhere; here it is an ordinary reader of the stream.
type reader struct {
	out   bytes.Buffer
	tools int
	// open is set while a line of text is not ended.
	open bool
}

func (r *reader) event(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.TextDelta:
		r.out.WriteString(b.Text)
		r.open = true
	case *event.AssistantMessage:
		r.endLine()
		for _, c := range event.CallsOf(b.Content) {
			r.tools++
			fmt.Fprintf(&r.out, "Tool #%d: %s\n", r.tools, c.Name)
		}
	default:
	}
}

func (r *reader) endLine() {
	if r.open {
		r.out.WriteByte('\n')
		r.open = false
	}
}
