package agentcore

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/strictjson"
)

const hexDigits = "0123456789abcdef"

// appendQuoted appends a string as Python's json.dumps does. With ascii, all other characters
// become \uXXXX in lower case. Otherwise only quotes, backslashes and control characters are
// escaped; DEL, U+2028 and HTML characters are not. Invalid UTF-8 becomes U+FFFD.
func appendQuoted[S string | []byte](dst []byte, s S, ascii bool) []byte {
	dst = append(dst, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if !ascii && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			dst = append(dst, s[begin:i]...)
			switch {
			case !ascii:
				dst = utf8.AppendRune(dst, r)
			case r > 0xFFFF:
				high, low := utf16.EncodeRune(r)
				dst = appendEscape(appendEscape(dst, high), low)
			default:
				dst = appendEscape(dst, r)
			}
		} else {
			dst = append(dst, s[begin:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			default:
				dst = appendEscape(dst, rune(c))
			}
		}
		i += size
		begin = i
	}
	return append(append(dst, s[begin:]...), '"')
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendFloat appends a float as Python's repr does: the shortest digits that parse back. It uses
// an exponent of at least two digits below 1e-4 and from 1e16 on, and a point otherwise.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	begin := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if slices.Contains(dst[begin:], '.') {
		return dst
	}
	return append(dst, ".0"...)
}

// appendValue appends JSON as Python would after parsing it: ", " and ": ", keys in their order,
// exact integers, floats by their repr. Invalid JSON becomes null.
func appendValue(dst []byte, raw json.RawMessage, ascii bool) []byte {
	if strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		return append(dst, "null"...)
	}
	s := scanner{b: raw}
	var scratch []byte
	for s.peek() != 0 {
		switch c := s.b[s.at]; {
		case c == '"':
			dst = appendQuoted(dst, s.text(&scratch), ascii)
			scratch = scratch[:0]
		case c == ',' || c == ':':
			dst = append(dst, c, ' ')
			s.at++
		case isWord(c):
			dst = appendNumber(dst, s.skip())
		default:
			dst = append(dst, c)
			s.at++
		}
	}
	return dst
}

// appendNumber appends a number or a word. Python reads numbers with a point or an exponent as
// floats.
func appendNumber(dst, word []byte) []byte {
	if c := word[len(word)-1]; c < '0' || c > '9' {
		return append(dst, word...)
	}
	if string(word) == "-0" {
		return append(dst, '0')
	}
	for _, c := range word {
		if c == '.' || c == 'e' || c == 'E' {
			f, _ := strconv.ParseFloat(string(word), 64) // out of range is infinite, as in Python
			return appendFloat(dst, f)
		}
	}
	return append(dst, word...)
}
