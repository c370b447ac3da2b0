package event

import (
	"errors"

	"github.com/braidrun/braid/internal/strictjson"
)

const (
	// maxRaw bounds the levels inside raw JSON.
	maxRaw = strictjson.DefaultDepth
	// maxNested bounds tool results inside tool results. Nothing in Braid
	// nests them; the bound keeps a cycle or an attack finite.
	maxNested = 16
	// maxDepth bounds a whole text: raw JSON in the innermost place. The
	// event, its body, a list, a block, then a list and a block for
	// each tool result around it.
	maxDepth = maxRaw + 2*maxNested + 8
)

// MarshalJSON implements [encoding/json.Marshaler]. The standard library
// escapes HTML characters in what it returns and compacts unknown bodies; use
// [AppendJSON] for the exact bytes.
func (e Event) MarshalJSON() ([]byte, error) { return AppendJSON(nil, &e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]; see [Decode].
func (e *Event) UnmarshalJSON(data []byte) error {
	got, err := Decode(data)
	if err != nil {
		return err
	}
	*e = got
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler]: {"role":…,"content":[…]}.
func (m Message) MarshalJSON() ([]byte, error) { return AppendMessage(nil, m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], as strictly as [Decode].
func (m *Message) UnmarshalJSON(data []byte) error {
	got, err := DecodeMessage(data)
	if err != nil {
		return err
	}
	*m = got
	return nil
}

// MarshalJSON gives Raw, so that a body of an unknown kind stays itself also
// where the standard library writes it.
func (u *Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// The blocks write themselves with their kind also where the standard library
// meets them; without it nobody could read them back. Reading needs [DecodeBlock].

// MarshalJSON implements [encoding/json.Marshaler].
func (u *UnknownBlock) MarshalJSON() ([]byte, error) { return AppendBlock(nil, u) }

// invalidJSON words what the strict reader found for people. A nil err is nil.
func invalidJSON(op string, err error) error {
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return &Error{Op: op, Kind: ErrInvalid, Message: "this is not valid JSON", Err: err}
	}
	hint := ""
	switch bad.Reason {
	case strictjson.UnknownKey:
		hint = "check its spelling and case, or use a version of Braid that knows it"
	case strictjson.DuplicateKey:
		hint = "write each key once"
	case strictjson.InvalidUTF8:
		hint = "send UTF-8"
	case strictjson.Truncated:
		hint = "send the whole text"
	}
	return &Error{Op: op, Kind: ErrInvalid, Message: bad.Error(), Hint: hint, Err: err}
}
