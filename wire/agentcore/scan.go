package agentcore

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON as Python writes it and as broken senders do: NaN and Infinity
// are values, half a surrogate pair is U+FFFD, control characters may stand in
// strings. What is passed over is only held to its brackets and quotes. The first
// thing that cannot be read sets bad and moves to the end.
type scanner struct {
	b   []byte
	at  int
	bad bool
	// odd says that NaN or Infinity was met by [scanner.json].
	odd bool
}

func (s *scanner) fail() {
	s.bad, s.at = true, len(s.b)
}

// peek moves to the next value or bracket and tells its first byte; 0 at the end.
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

// span passes a string and gives what stands between its quotes, as it is written.
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

// key gives the next key of an object whose bracket has been passed, and false at
// its end. Escapes in it stay as they are: none of the keys that mean something has any.
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

// object passes the bracket of an object; what is none is skipped.
func (s *scanner) object() bool { return s.open('{') }

// list passes the bracket of a list, which must be there.
func (s *scanner) list() { s.open('[') }

func (s *scanner) open(bracket byte) bool {
	if s.peek() == bracket {
		s.at++
		return true
	}
	s.skip()
	return false
}

// next reports whether a list whose bracket has been passed has another element.
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

// skip passes a value and gives it as it is written.
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

// isNumber reports whether a word is a number of JSON's.
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

// isOdd reports whether a word is a number of Python's that JSON has not.
func isOdd(word []byte) bool {
	switch string(word) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return false
}

// text gives a string without its escapes. It is in the input, or at the end of
// scratch where there were any. What is no string is skipped: nil.
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

// word is text as a string.
func (s *scanner) word() string {
	var scratch []byte
	return string(s.text(&scratch))
}

// number reads a number; what is none, or is not finite, is 0.
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

// json gives a value as JSON that everybody reads: NaN and the infinities are null,
// as in JavaScript, half pairs U+FFFD, without white space. What cannot be mended is nil.
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

// appendPlain takes the escapes out of a string.
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
