package agentcore

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON as Python and careless senders write it: NaN and Infinity are values, a lone
// surrogate becomes U+FFFD, and strings may hold control characters. It checks skipped values for
// brackets and quotes only. The first unreadable byte sets bad and moves to the end.
type scanner struct {
	b   []byte
	at  int
	bad bool
	// odd is set once [scanner.json] has met NaN or Infinity.
	odd bool
}

func (s *scanner) fail() {
	s.bad, s.at = true, len(s.b)
}

// peek moves to the next value or bracket and returns its first byte; 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.b) {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// span skips a string and returns the raw text between its quotes.
func (s *scanner) span() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	begin := s.at + 1
	for i := begin; ; {
		n := bytes.IndexByte(s.b[i:], '"')
		if n < 0 {
			s.fail()
			return nil
		}
		i += n
		slashes := 0
		for i-slashes > begin && s.b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.at = i + 1
			return s.b[begin:i]
		}
		i++
	}
}

// key returns the next key of an open object, and false at its end. It does not resolve escapes,
// because no known key has any.
func (s *scanner) key() ([]byte, bool) {
	c := s.peek()
	if c == ',' {
		s.at++
		c = s.peek()
	}
	if c == '}' {
		s.at++
		return nil, false
	}
	k := s.span()
	if s.bad {
		return nil, false
	}
	if s.peek() != ':' {
		s.fail()
		return nil, false
	}
	s.at++
	return k, true
}

// object opens an object; it skips any other value.
func (s *scanner) object() bool { return s.open('{') }

// list opens a list, which must be there.
func (s *scanner) list() { s.open('[') }

func (s *scanner) open(bracket byte) bool {
	if s.peek() == bracket {
		s.at++
		return true
	}
	s.skip()
	return false
}

// next reports whether an open list has another element.
func (s *scanner) next() bool {
	c := s.peek()
	if c == ',' {
		s.at++
		c = s.peek()
	}
	switch c {
	case ']':
		s.at++
		return false
	case 0:
		s.fail()
		return false
	}
	return !s.bad
}

// skip skips a value and returns its raw text.
func (s *scanner) skip() []byte {
	c := s.peek()
	begin := s.at
	switch c {
	case '"':
		s.span()
	case '{', '[':
		depth := 0
		for s.at < len(s.b) {
			n := bytes.IndexAny(s.b[s.at:], `"{}[]`)
			if n < 0 {
				break
			}
			s.at += n
			switch s.b[s.at] {
			case '"':
				s.span()
				continue
			case '{', '[':
				depth++
			default:
				depth--
			}
			s.at++
			if depth == 0 {
				return s.b[begin:s.at]
			}
		}
		s.fail()
	default:
		for s.at < len(s.b) && isWord(s.b[s.at]) {
			s.at++
		}
		if word := s.b[begin:s.at]; !isLiteral(word) {
			s.fail()
		}
	}
	if s.bad {
		return nil
	}
	return s.b[begin:s.at]
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
}

func isLiteral(word []byte) bool {
	switch string(word) {
	case "":
		return false
	case "true", "false", "null":
		return true
	}
	return isNumber(word) || isOdd(word)
}

// isNumber reports whether a word is a JSON number.
func isNumber(word []byte) bool {
	word = bytes.TrimPrefix(word, []byte{'-'})
	whole := digits(word)
	if whole == 0 || whole > 1 && word[0] == '0' {
		return false
	}
	word = word[whole:]
	if len(word) > 0 && word[0] == '.' {
		n := digits(word[1:])
		if n == 0 {
			return false
		}
		word = word[1+n:]
	}
	if len(word) > 0 && word[0]|0x20 == 'e' {
		word = word[1:]
		if len(word) > 0 && (word[0] == '+' || word[0] == '-') {
			word = word[1:]
		}
		n := digits(word)
		return n > 0 && n == len(word)
	}
	return len(word) == 0
}

func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// isOdd reports whether a word is a Python number that JSON lacks.
func isOdd(word []byte) bool {
	switch string(word) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return false
}

// text returns a string with its escapes resolved, or nil for any other value, which it skips.
// The result is part of the input, or of scratch if there were escapes.
func (s *scanner) text(scratch *[]byte) []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	raw := s.span()
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw
	}
	begin := len(*scratch)
	*scratch = appendPlain(*scratch, raw)
	return (*scratch)[begin:]
}

// word returns text as a string.
func (s *scanner) word() string {
	var scratch []byte
	return string(s.text(&scratch))
}

// number reads a number; other values and infinities are 0.
func (s *scanner) number() float64 {
	f, err := strconv.ParseFloat(string(s.skip()), 64)
	if err != nil || f != f || f > 1e18 || f < -1e18 {
		return 0
	}
	return f
}

func (s *scanner) count() int64 {
	word := s.skip()
	if n, err := strconv.ParseInt(string(word), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if err != nil || f != f || f > 1e18 || f < -1e18 {
		return 0
	}
	return int64(f)
}

// json returns a value as strict JSON without white space: NaN and infinities become null, as in
// JavaScript, and lone surrogates U+FFFD. It returns nil if it cannot repair the value.
func (s *scanner) json() json.RawMessage {
	raw := s.skip()
	if s.bad {
		return nil
	}
	out := make([]byte, 0, len(raw))
	in := scanner{b: raw}
	for in.peek() != 0 && !in.bad {
		switch c := in.b[in.at]; {
		case c == '"':
			var scratch []byte
			out = appendQuoted(out, in.text(&scratch), false)
		case isWord(c):
			word := in.skip()
			if isOdd(word) {
				s.odd = true
				word = []byte("null")
			}
			out = append(out, word...)
		default:
			out = append(out, c)
			in.at++
		}
	}
	if in.bad || !json.Valid(out) {
		return nil
	}
	return out
}

// appendPlain appends a string with its escapes resolved.
func appendPlain(dst, raw []byte) []byte {
	begin := len(dst)
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			dst = append(dst, raw[i:]...)
			break
		}
		dst = append(dst, raw[i:i+n]...)
		i += n + 1
		if i == len(raw) {
			break
		}
		c := raw[i]
		i++
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, ok := hex4(raw[i:])
			if !ok {
				dst = append(dst, `\u`...)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					if low, ok := hex4(raw[i+2:]); ok {
						pair = utf16.DecodeRune(r, low)
					}
				}
				if pair != utf8.RuneError {
					i += 6
				}
				r = pair
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	if !utf8.Valid(dst[begin:]) {
		dst = append(dst[:begin], bytes.ToValidUTF8(dst[begin:], []byte("\uFFFD"))...)
	}
	return dst
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(n), err == nil
}
