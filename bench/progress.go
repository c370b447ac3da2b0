package main

import (
	"fmt"
	"io"
	"os"
)

// progress is a line at the bottom of a terminal that shows the current step.
type progress struct {
	w     io.Writer
	on    bool
	shown bool
}

const eraseLine = "\r\x1b[K"

func (p *progress) say(format string, args ...any) {
	if p.on {
		_, _ = fmt.Fprintf(p.w, eraseLine+format, args...)
		p.shown = true
	}
}

func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.w, eraseLine)
		p.shown = false
	}
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
