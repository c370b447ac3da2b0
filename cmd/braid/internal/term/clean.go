package term

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/unseen"
)

// Cleaner makes foreign text safe for a terminal. Text of a model or a tool must not move the cursor, set
// the title, hide text or change its direction, so Cleaner replaces such characters by visible signs. Line
// feeds and tabs pass. A carriage return before a line feed is dropped.
//
// Pieces may end anywhere, also inside a character. The zero Cleaner is ready to use.
type Cleaner struct {
	// rest is an incomplete end of the last piece: the beginning of a character, or a carriage return. It
	// has at most three bytes.
	rest string
}

// Add appends s to dst in its visible form.
func (c *Cleaner) Add(dst []byte, s string) []byte {
	if c.rest != "" {
		s = c.rest + s
		c.rest = ""
	}
	for i := 0; i < len(s); {
		if b := s[i]; b >= 0x20 && b < 0x7f || b == '\n' || b == '\t' {
			dst = append(dst, b)
			i++
			continue
		}
		if s[i] == '\r' {
			switch {
			case i+1 == len(s):
				c.rest = "\r"
				return dst
			case s[i+1] == '\n':
			default:
				dst = appendVisible(dst, '\r')
			}
			i++
			continue
		}
		if !utf8.FullRuneInString(s[i:]) {
			c.rest = s[i:]
			return dst
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = appendByte(dst, s[i])
		case hidden(r):
			dst = appendVisible(dst, r)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

// Flush appends the rest at the end of the stream.
func (c *Cleaner) Flush(dst []byte) []byte {
	rest := c.rest
	c.rest = ""
	if rest == "\r" {
		return appendVisible(dst, '\r')
	}
	for i := range len(rest) {
		dst = appendByte(dst, rest[i])
	}
	return dst
}

// Clean returns the visible form of a whole text.
func Clean(s string) string {
	var c Cleaner
	return string(c.Flush(c.Add(make([]byte, 0, len(s)), s)))
}

// CleanLine returns the visible form of a text that must stay on one line.
func CleanLine(s string) string {
	return LineBreaks.Replace(Clean(s))
}

// LineBreaks replaces line feeds and tabs by signs that keep a text on one line.
var LineBreaks = strings.NewReplacer("\n", "␊", "\t", " ")

// hidden reports whether r is invisible but has an effect, such as turning the text around it.
func hidden(r rune) bool { return unseen.Rune(r) }

// appendVisible appends a visible sign for r.
func appendVisible(dst []byte, r rune) []byte {
	switch {
	case r < 0x20:
		return utf8.AppendRune(dst, 0x2400+r)
	case r == 0x7f:
		return utf8.AppendRune(dst, 0x2421)
	}
	return fmt.Appendf(dst, "<U+%04X>", r)
}

// appendByte appends a visible sign for a byte that is not part of a character.
func appendByte(dst []byte, b byte) []byte { return fmt.Appendf(dst, "<%02X>", b) }

// CleanJSON escapes the characters in a JSON text that [hidden] reports. They occur only inside strings, so
// the text keeps its meaning.
func CleanJSON(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		if src[i] < utf8.RuneSelf {
			if src[i] == 0x7f {
				dst = append(dst, `\u007f`...)
			} else {
				dst = append(dst, src[i])
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(src[i:])
		if hidden(r) {
			for _, u := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04x`, u)
			}
		} else {
			dst = append(dst, src[i:i+n]...)
		}
		i += n
	}
	return dst
}
