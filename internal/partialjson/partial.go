// Package partialjson completes the beginning of a JSON value, so that a value can be read while
// it is still being written.
package partialjson

// Text holds the beginning of one JSON value. The zero value is ready for use.
//
// It keeps its parser state between pieces, so that each piece costs time in its own length only.
// It does not validate: input that is not JSON gives output that is not JSON.
type Text struct {
	data []byte
	// open holds the closing brackets of the open arrays and objects.
	open []byte
	// data[:sound] becomes a complete value once open[:depth] is closed behind it.
	sound, depth int
	state        state
	// escape is the number of bytes of the open escape sequence, the backslash included; 0 if
	// none is open.
	escape int
	// high means that the string ends in the first half of a surrogate pair, written as a \u
	// escape that begins at half.
	high bool
	half int
	hex  rune
	// begun is where the open value or key begins.
	begun int
	key   bool
}

type state uint8

const (
	// between is before a value, a comma or a bracket; inString is inside a string; inWord is
	// inside a number or a word; done is behind the complete value.
	between state = iota
	inString
	inWord
	done
)

// Reset empties the text and keeps its memory.
func (t *Text) Reset() {
	*t = Text{data: t.data[:0], open: t.open[:0]}
}

// Len returns the number of bytes written so far.
func (t *Text) Len() int { return len(t.data) }

// Whole reports whether the value is complete. A number at the top level never is, because more
// digits may follow.
func (t *Text) Whole() bool { return t.state == done }

// Write appends a piece. Anything after a complete value is ignored.
func (t *Text) Write(piece string) {
	for i := 0; i < len(piece) && t.state != done; i++ {
		t.add(piece[i])
	}
}

func (t *Text) add(c byte) {
	at := len(t.data)
	t.data = append(t.data, c)
	if t.state == inString {
		t.addToString(c)
		return
	}
	if t.state == inWord {
		switch c {
		case ',', ']', '}', ' ', '\t', '\n', '\r', ':':
			t.state = between
			t.ended(at)
		default:
			return
		}
	}
	switch c {
	case '"':
		t.state, t.begun = inString, at
		t.high, t.escape = false, 0
	case '{':
		t.open = append(t.open, '}')
		t.key = true
		t.sound, t.depth = at+1, len(t.open)
	case '[':
		t.open = append(t.open, ']')
		t.key = false
		t.sound, t.depth = at+1, len(t.open)
	case '}', ']':
		if n := len(t.open); n > 0 {
			t.open = t.open[:n-1]
		}
		t.ended(at + 1)
		t.key = false
	case ',':
		t.key = len(t.open) > 0 && t.open[len(t.open)-1] == '}'
	case ':':
		t.key = false
	case ' ', '\t', '\n', '\r':
	default:
		t.state, t.begun = inWord, at
	}
}

// ended records that a value ends before at.
func (t *Text) ended(at int) {
	t.sound, t.depth = at, len(t.open)
	if len(t.open) == 0 {
		t.state = done
		t.data = t.data[:at]
	}
}

func (t *Text) addToString(c byte) {
	at := len(t.data) - 1
	switch {
	case t.escape == 1:
		if c == 'u' {
			t.escape, t.hex = 2, 0
			return
		}
		t.escape, t.high = 0, false
	case t.escape > 1:
		t.hex = t.hex<<4 | nibble(c)
		if t.escape++; t.escape < 6 {
			return
		}
		t.escape = 0
		second := t.high && t.hex >= 0xDC00 && t.hex < 0xE000
		t.high = !second && t.hex >= 0xD800 && t.hex < 0xDC00
		if t.high {
			t.half = at - 5
		}
	case c == '\\':
		t.escape = 1
	case c == '"':
		t.state = between
		if !t.key {
			t.ended(at + 1)
		}
	default:
		t.high = false
	}
}

func nibble(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	default:
		return 0
	}
}

// Append appends the known part of the value as complete JSON. An open string is included as far
// as it is known; numbers, words and keys only once they are complete. ok is false if nothing is
// known yet.
func (t *Text) Append(dst []byte) (value []byte, ok bool) {
	end, depth, quote := t.sound, t.depth, false
	if t.state == inString && !t.key {
		// Cut at the last complete character.
		end, depth, quote = len(t.data), len(t.open), true
		switch {
		case t.high:
			end = t.half
		case t.escape > 0:
			end -= t.escape
		}
		end = wholeRunes(t.data, t.begun+1, end)
	}
	if end == 0 {
		return dst, false
	}
	dst = append(dst, t.data[:end]...)
	if quote {
		dst = append(dst, '"')
	}
	for i := depth - 1; i >= 0; i-- {
		dst = append(dst, t.open[i])
	}
	return dst, true
}

// wholeRunes returns end, or the start of the character that end cuts.
func wholeRunes(b []byte, begin, end int) int {
	for i := end - 1; i >= begin && i >= end-3; i-- {
		switch c := b[i]; {
		case c < 0x80:
			return end
		case c >= 0xC0:
			size := 2
			if c >= 0xF0 {
				size = 4
			} else if c >= 0xE0 {
				size = 3
			}
			if end-i < size {
				return i
			}
			return end
		}
	}
	return end
}
