package term

import (
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// PlainWidth is the width of cards where there is no terminal to ask.
const PlainWidth = 100

// Screen is what the output can show.
type Screen struct {
	// Terminal is set where a person looks at the output as it comes.
	Terminal bool
	Colour   bool
	// Symbols allows characters beyond ASCII for frames and marks.
	Symbols bool
	// Width is in columns.
	Width int
}

// NewScreen looks at w. Colours follow --color; with "auto" they need a
// terminal that is not dumb, and NO_COLOR not set (no-color.org).
func NewScreen(w any, colour string, getenv func(string) string) Screen {
	s := Screen{Terminal: IsTerminal(w), Width: PlainWidth}
	if s.Terminal {
		s.Symbols = utf8Locale(getenv)
		if f, ok := w.(*os.File); ok {
			if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
				s.Width = cols
			}
		}
	}
	switch colour {
	case "always":
		s.Colour = true
	case "never":
	default:
		s.Colour = s.Terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return s
}

// IsTerminal reports whether v is a file that is a terminal.
func IsTerminal(v any) bool {
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

// Style is a way to show text, as the number of its escape sequence.
type Style string

const (
	Plain   Style = ""
	Bold    Style = "1"
	Dim     Style = "2"
	Red     Style = "31"
	Green   Style = "32"
	Yellow  Style = "33"
	Cyan    Style = "36"
	BoldRed Style = "1;31"
)

// Paint appends text in a style, where the screen has colours. Each piece is
// closed by itself, so that a run that is cut short leaves the terminal as it was.
func (s Screen) Paint(dst []byte, st Style, text string) []byte {
	if text == "" {
		return dst
	}
	if !s.Colour || st == Plain {
		return append(dst, text...)
	}
	dst = append(dst, "\x1b["...)
	dst = append(dst, st...)
	dst = append(dst, 'm')
	dst = append(dst, text...)
	return append(dst, "\x1b[0m"...)
}

// Fit cuts a line so that it takes at most width columns. It counts columns,
// not characters: 計算 takes four.
func Fit(line string, width int) string {
	if width < 1 {
		return ""
	}
	return runewidth.Truncate(line, width, "…")
}

// Width is how many columns s takes.
func Width(s string) int { return runewidth.StringWidth(s) }

// Wrap breaks text at spaces so that a line takes at most width columns.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
