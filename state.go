package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// The prefixes of state keys. A key without one belongs to the conversation.
const (
	// StateApp is shared by all conversations of a tenant.
	StateApp = fold.AppPrefix
	// StateUser is shared by all conversations of a tenant's user.
	StateUser = fold.UserPrefix
	// StateRun lives for one run, and is kept with it: it survives a restart, and is gone when
	// the next run begins.
	StateRun = fold.RunPrefix
	// StateTemp lives for one run, in memory only: it is never stored or sent, and is gone
	// after a restart.
	StateTemp = fold.TempPrefix
)

// GetState reads a value of the conversation's state inside a tool, or of the
// run's with the prefix [StateRun] or [StateTemp]. It sees what this call has set itself, and
// what calls that have ended had set; ok is false where there is nothing.
func GetState[T any](ctx context.Context, key string) (value T, ok bool, err error) {
	c := CallOf(ctx)
	if c == nil {
		return value, false, outsideTool("GetState")
	}
	raw, ok := c.state(key)
	if !ok {
		return value, false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, true, otherType(key, err)
	}
	return value, true, nil
}

// SetState sets a value inside a tool. It is written with the call's result, in
// one commit; a call that asks a question, or fails to come back, sets nothing.
// Of parallel calls the one that ends last wins; [State.Update] loses nothing. [StateTemp] keys are set at once and never stored.
func SetState(ctx context.Context, key string, value any) error {
	c := CallOf(ctx)
	if c == nil {
		return outsideTool("SetState")
	}
	if err := checkStateKey(key); err != nil {
		return err
	}
	raw, err := stateJSON(key, value)
	if err != nil {
		return err
	}
	c.setState(key, raw)
	return nil
}

// givenState is what a caller gives a run, as JSON.
func givenState(values map[string]any) (map[string]json.RawMessage, error) {
	m := make(map[string]json.RawMessage, len(values))
	for key, value := range values {
		if err := checkStateKey(key); err != nil {
			return nil, err
		}
		raw, err := stateJSON(key, value)
		if err != nil {
			return nil, err
		}
		m[key] = raw
	}
	return m, nil
}

func checkStateKey(key string) error {
	if key == "" {
		return &event.Error{Op: "state", Kind: event.ErrInvalid, Message: "the key is empty", Hint: "name it"}
	}
	if strings.HasPrefix(key, fold.Reserved) {
		return reservedKey()
	}
	if !utf8.ValidString(key) {
		return &event.Error{Op: "state", Kind: event.ErrInvalid, Message: "the key is not valid UTF-8", Hint: "convert it to UTF-8 first"}
	}
	return nil
}

// stateJSON is a value as the log keeps it.
func stateJSON(key string, value any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, &event.Error{
			Op: "state " + key, Kind: event.ErrInvalid, Message: "the value cannot be written as JSON",
			Hint: "use types that encoding/json knows", Err: err,
		}
	}
	raw := bytes.TrimSpace(buf.Bytes())
	// What a log would refuse must be told here, where the tool can mend it.
	if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
		return nil, unfitJSON("state "+key, err)
	}
	return raw, nil
}

// unfitJSON is the error for JSON that encoding/json lets pass and the log does
// not: doubled keys, bad UTF-8, great depth.
func unfitJSON(op string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the JSON cannot be kept: " + err.Error(),
		Hint: "look at the json.RawMessage, or the MarshalJSON, that it comes from", Err: err,
	}
}

// DeleteState removes a value inside a tool, under the rules of [SetState].
func DeleteState(ctx context.Context, key string) error {
	c := CallOf(ctx)
	if c == nil {
		return outsideTool("DeleteState")
	}
	if strings.HasPrefix(key, fold.Reserved) {
		return reservedKey()
	}
	if key == "" || !utf8.ValidString(key) {
		return &event.Error{Op: "state", Kind: event.ErrInvalid, Message: "the key is empty or not valid UTF-8", Hint: "name what was set"}
	}
	c.setState(key, nil)
	return nil
}

// reservedKey is the error for a key that only Braid itself may write.
func reservedKey() error {
	return &event.Error{
		Op: "state", Kind: event.ErrInvalid, Message: "keys of state that begin with \"braid.\" are taken", Hint: "call it something else",
	}
}

func outsideTool(what string) error {
	return &event.Error{
		Op: what, Kind: event.ErrInvalid, Message: "there is no tool call in this context",
		Hint: "call it inside a tool, with the context that the tool was given",
	}
}
