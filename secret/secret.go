package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Redacted is what a secret is printed as.
const Redacted = "[redacted]"

// Secret is a key, a token or a password. The zero value holds none and
// prints as nothing.
//
// It is passed by value and is safe for concurrent use. Two of them cannot be
// compared with ==, which would take longer the more they have in common: see
// [Secret.Equal].
type Secret struct {
	_ [0]func()
	// The value stands behind a pointer because fmt looks into fields that are
	// not exported without asking their methods, and there prints an address.
	value *string
}

// New makes a secret of what was read from a file, a flag or the environment.
// White space around it, which copying a key leaves behind, is taken away.
func New(value string) Secret {
	value = strings.TrimSpace(value)
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal gives the value; "" where there is none. It is for the one call that
// hands it to whoever needs it, never for a message.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == nil }

// Equal compares two secrets in a time that says nothing of what they are,
// their lengths included.
func (s Secret) Equal(other Secret) bool {
	a, b := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// Hide puts [Redacted] in place of every occurrence of the value in text: for
// what somebody else wrote and may have repeated it. A value of [MaskFrom] bytes or more is
// also found in the other forms that a [Mask] knows.
func (s Secret) Hide(text string) string {
	if s.value == nil {
		return text
	}
	if len(*s.value) < MaskFrom {
		return strings.ReplaceAll(text, *s.value, Redacted)
	}
	return NewMask(s).Hide(text)
}

// String gives [Redacted], or "" where there is no value.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return Redacted
}

// GoString is String in quotes, for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("secret.New(%q)", s.String()) }

// Format prints the same for every verb, also for those that would show bytes
// or an address.
func (s Secret) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'v' && f.Flag('#'):
		_, _ = io.WriteString(f, s.GoString())
	case verb == 'q':
		_, _ = fmt.Fprintf(f, "%q", s.String())
	default:
		_, _ = io.WriteString(f, s.String())
	}
}

// MarshalText gives String: JSON, XML, YAML and others write that.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a value, so that a configuration may hold one. What was
// written by MarshalText is refused: a key that is "[redacted]" is a copy of a
// log, not a key.
func (s *Secret) UnmarshalText(text []byte) error {
	if strings.TrimSpace(string(text)) == Redacted {
		return errRedacted
	}
	*s = New(string(text))
	return nil
}

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

type constError string

func (e constError) Error() string { return string(e) }

const errRedacted = constError("this is what a secret is printed as, not a secret")
