package term

import (
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// PlainWidth is the width of cards without a terminal.
const PlainWidth = 100

// Screen describes the abilities of an output stream.
type Screen struct {
	// Terminal is set if the output is a terminal.
	Terminal bool
	// Colour allows escape sequences for colours.
	Colour bool
	// Symbols allows frames and marks beyond ASCII.
	Symbols bool
	// Width is in columns.
	Width int
}

// NewScreen describes w. colour is the value of --color. With "auto", colours need a terminal that is not
// dumb, and NO_COLOR must not be set (no-color.org).
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

// utf8Locale reports whether the locale allows more than ASCII. It assumes a modern terminal if no locale
// is set, as in many containers.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// Style is the number of an escape sequence.
type Style string

// The styles.
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

// Paint appends text in a style if the screen has colours. It resets the style after each text, so that an
// interrupted run leaves the terminal unchanged.
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

// Fit shortens a line to at most width columns. It counts columns, not characters: 計算 takes four.
func Fit(line string, width int) string {
	if width < 1 {
		return ""
	}
	return runewidth.Truncate(line, width, "…")
}

// Width returns the number of columns of s.
func Width(s string) int { return runewidth.StringWidth(s) }

// Wrap breaks text at spaces into lines of at most width columns.
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
