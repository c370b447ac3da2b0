package openai

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/model"
)

// A strict schema must require every property, so Braid makes optional properties nullable. The
// answer then contains nulls that the agent's schema does not allow. Braid removes them while
// the answer streams. It holds back a key until its value begins.

// absent removes members with the given names from a JSON text if they are null. A text that is
// not a JSON object passes unchanged.
type absent struct {
	names map[string]bool

	out  []byte
	held []byte // output that depends on the next member
	key  []byte // the key as written, with its quotes
	open []level
	at   place
	// quoted and escaped are the state of the current string. null counts the letters read of a
	// null.
	quoted, escaped bool
	null            int
	plain           bool // everything passes unchanged from here on
}

// level is an open array or object.
type level struct {
	object bool
	some   bool // a member was written
	comma  bool // a comma is due before the next member
}

// place is the position in the JSON grammar.
type place uint8

const (
	beforeText place = iota
	beforeKey
	inKey
	beforeColon
	beforeValue
	inNull
	elsewhere // in a value or after it
)

// write filters a piece of the text and returns the output so far. The result is valid until
// the next call.
func (a *absent) write(piece string) []byte {
	a.out = a.out[:0]
	for i := range len(piece) {
		if a.plain {
			a.out = append(a.out, piece[i:]...)
			break
		}
		a.take(piece[i])
	}
	return a.out
}

// rest returns the output that is held back at the end of the text.
func (a *absent) rest() []byte {
	a.out = a.out[:0]
	if !a.plain {
		a.release()
	}
	return a.out
}

// release writes the held output, with a comma before it if one is due.
func (a *absent) release() {
	if n := len(a.open); n > 0 && a.open[n-1].comma {
		a.out = append(a.out, ',')
		a.open[n-1].comma = false
	}
	a.out = append(a.out, a.held...)
	a.held = a.held[:0]
}

func (a *absent) take(c byte) {
	if a.at == inKey || a.at == elsewhere && a.quoted {
		a.inString(c)
		return
	}
	blank := c == ' ' || c == '\n' || c == '\r' || c == '\t'
	switch a.at {
	case beforeText:
		a.out = append(a.out, c)
		if c == '{' {
			a.open, a.at = append(a.open, level{object: true}), beforeKey
		} else if !blank {
			a.plain = true
		}
	case beforeKey:
		switch {
		case blank:
			a.held = append(a.held, c)
		case c == '"':
			a.held, a.key, a.at = append(a.held, c), append(a.key[:0], c), inKey
		case c == '}':
			a.open[len(a.open)-1].comma = false
			a.release()
			a.shut(c)
		default:
			a.giveUp(c)
		}
	case beforeColon:
		a.held = append(a.held, c)
		if c == ':' {
			a.at = beforeValue
		} else if !blank {
			a.giveUp(0)
		}
	case beforeValue:
		switch {
		case blank:
			a.held = append(a.held, c)
		case c == 'n' && a.drops():
			a.held, a.at, a.null = append(a.held, c), inNull, 1
		default:
			a.emit()
			a.value(c)
		}
	case inNull:
		a.held = append(a.held, c)
		if c != "null"[a.null] {
			a.giveUp(0)
		} else if a.null++; a.null == len("null") {
			a.held, a.at = a.held[:0], elsewhere
			a.open[len(a.open)-1].comma = false
		}
	default:
		a.value(c)
	}
}

// emit writes the held key of a member that stays.
func (a *absent) emit() {
	a.release()
	a.open[len(a.open)-1].some = true
	a.at = elsewhere
}

func (a *absent) inString(c byte) {
	into := &a.out
	if a.at == inKey {
		into = &a.held
		a.key = append(a.key, c)
	}
	*into = append(*into, c)
	switch {
	case a.escaped:
		a.escaped = false
	case c == '\\':
		a.escaped = true
	case c != '"':
	case a.at == inKey:
		a.at = beforeColon
	default:
		a.quoted = false
	}
}

// drops reports whether a null under the current key means that the member is absent.
func (a *absent) drops() bool {
	if bytes.IndexByte(a.key, '\\') < 0 {
		return a.names[string(a.key[1:len(a.key)-1])]
	}
	var name string
	return json.Unmarshal(a.key, &name) == nil && a.names[name]
}

// value handles a character in a value or after it.
func (a *absent) value(c byte) {
	switch c {
	case '"':
		a.quoted = true
	case '{':
		a.open, a.at = append(a.open, level{object: true}), beforeKey
	case '[':
		a.open = append(a.open, level{})
	case '}', ']':
		a.shut(c)
		return
	case ',':
		if n := len(a.open); n > 0 && a.open[n-1].object {
			a.open[n-1].comma = a.open[n-1].some
			a.at = beforeKey
			return
		}
	}
	a.out = append(a.out, c)
}

// shut closes an array or object.
func (a *absent) shut(c byte) {
	n := len(a.open)
	if n == 0 || a.open[n-1].object != (c == '}') {
		a.giveUp(c)
		return
	}
	a.out = append(a.out, c)
	a.open, a.at = a.open[:n-1], elsewhere
	a.plain = n == 1
}

// giveUp passes everything unchanged from here on. c is the current character; 0 means that it
// was already handled.
func (a *absent) giveUp(c byte) {
	a.release()
	if a.plain = true; c != 0 {
		a.out = append(a.out, c)
	}
}

// filter applies absent to each text of an answer.
type filter struct {
	names map[string]bool
	texts map[int]*absent
}

// text filters a piece of the text at index.
func (f *filter) text(index int, piece string) string {
	a := f.texts[index]
	if a == nil {
		if f.texts == nil {
			f.texts = make(map[int]*absent)
		}
		a = &absent{names: f.names}
		f.texts[index] = a
	}
	return string(a.write(piece))
}

// end yields the held output of incomplete texts.
func (f *filter) end(yield func(model.Chunk)) {
	for index, a := range f.texts {
		if rest := a.rest(); len(rest) > 0 {
			yield(model.Chunk{Kind: model.ChunkText, Index: index, Text: string(rest)})
		}
	}
	f.texts = nil
}
