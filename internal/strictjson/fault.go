package strictjson

import (
	"strconv"
	"unicode/utf8"
)

// Reason classifies what is wrong with a text. It is itself an error, so that
// errors.Is(err, strictjson.DuplicateKey) asks for it.
type Reason string

// The reasons. The first group is [Check]'s, the second [Unmarshal]'s and
// typed [Reader] methods'.
const (
	// Syntax is a byte that the grammar does not allow where it stands.
	Syntax Reason = "syntax"
	// Truncated is a text that ends before its value does, also an empty one.
	Truncated Reason = "truncated"
	// Trailing is anything but white space after the value.
	Trailing Reason = "trailing data"
	// DuplicateKey is a key that its object has already, escapes resolved.
	DuplicateKey Reason = "duplicate key"
	// TooDeep is an array or object inside too many others.
	TooDeep Reason = "too deep"
	// InvalidUTF8 is a byte that is no UTF-8.
	InvalidUTF8 Reason = "invalid UTF-8"
	// LoneSurrogate is a \u escape of one half of a surrogate pair.
	LoneSurrogate Reason = "lone surrogate"

	// UnknownKey is a key that the target has no field for.
	UnknownKey Reason = "unknown key"
	// KeyCase is a key that differs from a field's only in its case.
	KeyCase Reason = "key case"
	// WrongType is a value of another type than the target's, or a number
	// that does not fit.
	WrongType Reason = "wrong type"
	// BadValue is a value of the right type that the target's own
	// unmarshalling refuses, such as a date that is none.
	BadValue Reason = "bad value"
)

// Error implements error.
func (r Reason) Error() string { return string(r) }

// Error says what is wrong with a text and where. Every error of this package
// is one, except that [Unmarshal] passes on the standard library's complaint
// about a target that cannot be decoded into, which is a programmer's mistake.
type Error struct {
	Reason Reason
	// Offset is the place in bytes from 0, or -1 where it is not known. For
	// Truncated it is the length of the text, for WrongType from Unmarshal the
	// end of the value.
	Offset int
	// Key is the key that the error is about, where there is one; from
	// Unmarshal the dotted path to it. It is as long as the text made it.
	Key string
	// Text is the message without the place. Long keys are shortened in it.
	Text string
	// Err is the cause of a BadValue.
	Err error
}

// Error implements error: the text and, where it is known, the place.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// quoteKey shows a key in a message: quoted, and cut where it is long, because
// whoever sent the text chose it.
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
