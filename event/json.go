// # JSON
//
// One event is one object:
//
//	{"seq":7,"conversation":"c","run":"r","cycle":1,"step":"m1","attempt":1,
//	 "author":"calc","time":"2026-11-20T01:02:03.4Z","kind":"text_delta",
//	 "body":{"text":"hi","block":0}}
//
// The header's fields stand beside "kind" and "body", in snake case, and are
// left out when they are zero: seq, conversation, run, scope, cycle, step,
// attempt, author, branch, time (RFC 3339, UTC, nanoseconds), audience,
// simulated, epoch, n. A body's keys are those of its struct's tags. A block is
// an object with its "kind" among its fields, wherever it stands; Go durations
// are integers of nanoseconds under keys that end in "_ns"; bytes are base64.
//
// Writing is deterministic: fields in the order of their structs, map keys
// sorted. Only what JSON requires is escaped. Go strings that are no UTF-8
// are written with U+FFFD for each bad byte. Raw JSON inside an event is checked
// and written without white space, so that an event is one line, except for
// an [Unknown] body and an [UnknownBlock], which are written exactly as they came.
//
// Reading is strict. Refused are unknown and duplicate keys, values of another
// type (null included, except where the field is a pointer or raw JSON), bytes
// that are no UTF-8, nesting beyond the bound, and anything after the value.
// What is missing is zero; an empty list is nil. All errors are *[Error]s of
// kind [ErrInvalid].
//
// Raw JSON nests at most 512 levels, tool results inside tool results at most
// 16, in both directions: what can be written can be read.
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
func (b *Text) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Thinking) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *RedactedThinking) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Image) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Document) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Media) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *ToolCall) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *ToolResult) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Citation) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *Code) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

// MarshalJSON implements [encoding/json.Marshaler].
func (b *CodeResult) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }

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
