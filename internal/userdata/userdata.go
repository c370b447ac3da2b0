// Package userdata checks what users write to the log by hand: keys and values of state, and other JSON.
package userdata

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// The prefixes of state keys. Package tool says what they mean.
const (
	AppPrefix  = "app:"
	UserPrefix = "user:"
	RunPrefix  = "run:"
	TempPrefix = "temp:"
)

// Reserved begins the names of questions and the keys of state and metadata that are Braid's own.
const Reserved = "braid."

// Shared reports whether other conversations see a key's value too.
func Shared(key string) bool {
	return strings.HasPrefix(key, AppPrefix) || strings.HasPrefix(key, UserPrefix)
}

// IsTemp reports whether a key's value is in memory only.
func IsTemp(key string) bool { return strings.HasPrefix(key, TempPrefix) }

// Key checks a key that a user sets.
func Key(key string) error {
	switch {
	case key == "":
		return invalidKey("the key is empty", "name it")
	case strings.HasPrefix(key, Reserved):
		return reserved()
	case !utf8.ValidString(key):
		return invalidKey("the key is not valid UTF-8", "convert it to UTF-8 first")
	}
	return nil
}

// DeletedKey checks a key that a user deletes.
func DeletedKey(key string) error {
	switch {
	case strings.HasPrefix(key, Reserved):
		return reserved()
	case key == "" || !utf8.ValidString(key):
		return invalidKey("the key is empty or not valid UTF-8", "name what was set")
	}
	return nil
}

func reserved() error {
	return invalidKey("keys of state that begin with \"braid.\" are taken", "call it something else")
}

func invalidKey(message, hint string) error {
	return &event.Error{Op: "state", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// Value returns a value of the state as JSON, as the log keeps it.
func Value(key string, value any) (json.RawMessage, error) { return JSON("state "+key, "value", value) }

// JSON returns value as JSON. It refuses what the log would refuse. what names the value in the error, whose operation is
// op.
func JSON(op, what string, value any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the " + what + " cannot be written as JSON",
			Hint: "use types that encoding/json knows", Err: err,
		}
	}
	raw := bytes.TrimSpace(buf.Bytes())
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, Unfit(op, err)
	}
	return raw, nil
}

// Unfit is the error for JSON that encoding/json accepts and the log does not: doubled keys, bad UTF-8, great depth.
func Unfit(op string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the JSON cannot be kept: " + err.Error(),
		Hint: "look at the json.RawMessage, or the MarshalJSON, that it comes from", Err: err,
	}
}

// OtherType is the error for a value of the state that is read as another type than it was set with.
func OtherType(key string, err error) error {
	return &event.Error{
		Op: "state " + key, Kind: event.ErrInvalid, Message: "the value is of another type",
		Hint: "read it as the type it was set with", Err: err,
	}
}
