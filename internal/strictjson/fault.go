package strictjson

import (
	"strconv"
	"unicode/utf8"
)

// Reason classifies what is wrong with a text. It is itself an error, so that errors.Is(err,
// strictjson.DuplicateKey) works.
type Reason string

// The reasons. [Check] reports the first group; [Unmarshal] and the typed [Reader] methods also
// report the second.
const (
	// Syntax is a byte that the grammar does not allow at its place.
	Syntax Reason = "syntax"
	// Truncated is a text that ends before its value does, including an empty text.
	Truncated Reason = "truncated"
	// Trailing is anything but white space after the value.
	Trailing Reason = "trailing data"
	// DuplicateKey is a key that its object already has, after resolving escapes.
	DuplicateKey Reason = "duplicate key"
	// TooDeep is an array or object nested too deep.
	TooDeep Reason = "too deep"
	// InvalidUTF8 is a byte that is not part of valid UTF-8.
	InvalidUTF8 Reason = "invalid UTF-8"
	// LoneSurrogate is a \u escape of one half of a surrogate pair.
	LoneSurrogate Reason = "lone surrogate"

	// UnknownKey is a key for which the target has no field.
	UnknownKey Reason = "unknown key"
	// KeyCase is a key that differs from a field's only in its case.
	KeyCase Reason = "key case"
	// WrongType is a value of another type than the target's, or a number that does not fit.
	WrongType Reason = "wrong type"
	// BadValue is a value of the right type that the target's own unmarshalling refuses, such as
	// an invalid date.
	BadValue Reason = "bad value"
)

// Error implements error.
func (r Reason) Error() string { return string(r) }

// Error reports what is wrong with a text and where. Every error of this package is one, except
// that [Unmarshal] passes on the standard library's error about a target that it cannot decode
// into.
type Error struct {
	Reason Reason
	// Offset is the position in bytes from 0, or -1 if unknown. For Truncated it is the length
	// of the text; for WrongType from Unmarshal it is the end of the value.
	Offset int
	// Key is the key that the error is about, if any. [Unmarshal] gives the dotted path to it.
	// Its length is not bounded.
	Key string
	// Text is the message without the position. Long keys are shortened.
	Text string
	// Err is the cause of a BadValue.
	Err error
}

// Error returns the text and, if known, the position.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Text
	}
	return e.Text + " at byte " + strconv.Itoa(e.Offset)
}

// Is reports whether target is the error's reason.
func (e *Error) Is(target error) bool {
	r, ok := target.(Reason)
	return ok && r == e.Reason
}

// Unwrap returns the cause of a BadValue.
func (e *Error) Unwrap() error { return e.Err }

// quoteKey quotes a key for a message and shortens it, because the sender of the text chose it.
func quoteKey(key string) string {
	const most = 64
	if len(key) <= most {
		return strconv.Quote(key)
	}
	n := most
	for n > 0 && !utf8.RuneStart(key[n]) {
		n--
	}
	return strconv.Quote(key[:n]) + "…"
}
