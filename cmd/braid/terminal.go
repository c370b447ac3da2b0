package main

import (
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// plainWidth is the width of cards where there is no terminal to ask.
const plainWidth = 100

// screen is what the output can show.
type screen struct {
	// terminal is set where a person looks at the output as it comes.
	terminal bool
	colour   bool
	// symbols allows characters beyond ASCII for frames and marks.
	symbols bool
	// width is in columns.
	width int
}

// newScreen looks at w. Colours follow --color; with "auto" they need a
// terminal that is not dumb, and NO_COLOR not set (no-color.org).
func newScreen(w any, colour string, getenv func(string) string) screen {
	s := screen{terminal: isTerminal(w), width: plainWidth}
	if s.terminal {
		s.symbols = utf8Locale(getenv)
		if f, ok := w.(*os.File); ok {
			if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
				s.width = cols
			}
		}
	}
	switch colour {
	case "always":
		s.colour = true
	case "never":
	default:
		s.colour = s.terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return s
}

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd()))
}

// utf8Locale reports whether the locale allows more than ASCII. Where none is
// set, as in many containers, the terminal is taken to be a modern one.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// style is a way to show text, as the number of its escape sequence.
type style string

const (
	plain   style = ""
	bold    style = "1"
	dim     style = "2"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	cyan    style = "36"
	boldRed style = "1;31"
)

// paint appends text in a style, where the screen has colours. Each piece is
// closed by itself, so that a run that is cut short leaves the terminal as it was.
func (s screen) paint(dst []byte, st style, text string) []byte {
	if text == "" {
		return dst
	}
	if !s.colour || st == plain {
		return append(dst, text...)
	}
	dst = append(dst, "\x1b["...)
	dst = append(dst, st...)
	dst = append(dst, 'm')
	dst = append(dst, text...)
	return append(dst, "\x1b[0m"...)
}

// fit cuts a line so that it takes at most width columns. It counts columns,
// not characters: 計算 takes four.
func fit(line string, width int) string {
	if width < 1 {
		return ""
	}
	return runewidth.Truncate(line, width, "…")
}

// textWidth is how many columns s takes.
func textWidth(s string) int { return runewidth.StringWidth(s) }

// wrap breaks text at spaces so that a line takes at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case textWidth(line)+1+textWidth(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
