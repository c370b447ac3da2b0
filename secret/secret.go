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

// Secret is a key, a token or a password. The zero value is empty and prints as "".
//
// It is passed by value and is safe for concurrent use. Secrets cannot be compared with ==, whose
// time depends on what they have in common: use [Secret.Equal].
type Secret struct {
	_ [0]func()
	// value is a pointer because fmt prints unexported fields without calling their methods. It
	// prints an address here.
	value *string
}

// New returns a secret from a file, a flag or the environment. It removes surrounding white space,
// which is often copied with a key.
func New(value string) Secret {
	value = strings.TrimSpace(value)
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value; "" if there is none. Use it only where the value is needed, never for
// a message.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == nil }

// Equal reports whether two secrets are equal, in a time that reveals neither them nor their
// lengths.
func (s Secret) Equal(other Secret) bool {
	a, b := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// Hide replaces every occurrence of the value in text with [Redacted]. Use it for text from others
// that may repeat the value. A value of [MaskFrom] bytes or more is also found in the other forms
// that a [Mask] knows.
func (s Secret) Hide(text string) string {
	if s.value == nil {
		return text
	}
	if len(*s.value) < MaskFrom {
		return strings.ReplaceAll(text, *s.value, Redacted)
	}
	return NewMask(s).Hide(text)
}

// String returns [Redacted], or "" if there is no value.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return Redacted
}

// GoString returns String in quotes, for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("secret.New(%q)", s.String()) }

// Format prints the same for every verb, even those that would show bytes or an address.
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

// MarshalText returns String, for JSON, XML, YAML and others.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a value, for example from a configuration. It refuses the output of
// MarshalText: "[redacted]" is copied from a log and is not a key.
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
