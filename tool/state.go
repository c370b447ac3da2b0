package tool

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/userdata"
)

// The prefixes of state keys. A key without one belongs to the conversation.
const (
	// StateApp is shared by all conversations of a tenant.
	StateApp = userdata.AppPrefix
	// StateUser is shared by all conversations of a tenant's user.
	StateUser = userdata.UserPrefix
	// StateRun lives for one run, and is kept with it: it survives a restart, and is gone when
	// the next run begins.
	StateRun = userdata.RunPrefix
	// StateTemp lives for one run, in memory only: it is never stored or sent, and is gone
	// after a restart.
	StateTemp = userdata.TempPrefix
)

// WithState returns a context in which [State] reads from, and also writes if from is a [StateWriter]. It is for a loop whose
// hooks use state where there is no tool call.
func WithState(ctx context.Context, from StateReader) context.Context {
	return context.WithValue(ctx, stateKey{}, from)
}

// stateWriterOf returns where op writes.
func stateWriterOf(ctx context.Context, op string) (StateWriter, error) {
	switch to := ctx.Value(stateKey{}).(type) {
	case StateWriter:
		return to, nil
	case StateReader:
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the state can only be read in this hook", Hint: "write it in a tool or after an agent",
		}
	}
	return nil, NoCall(op)
}

// State names a value of the state and says its type. Declare it once, where everybody who uses
// it finds it:
//
//	const cart tool.State[[]string] = "cart"
//
// Values are kept as JSON, so T is whatever encoding/json reads and writes. The name's
// prefix says how long the value lives: [StateApp], [StateUser], [StateRun], [StateTemp], and
// none for the conversation. The methods work inside a tool, in a hook around one, and in a hook after an agent. Get also works
// in a hook before a model call.
type State[T any] string

// Get reads the value. It sees what this call has set itself, and what calls that have ended had set; ok is false if
// there is nothing.
func (s State[T]) Get(ctx context.Context) (value T, ok bool, err error) {
	from, known := ctx.Value(stateKey{}).(StateReader)
	if !known {
		return value, false, NoCall("State.Get")
	}
	raw, ok := from.State(string(s))
	if !ok {
		return value, false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, true, userdata.OtherType(string(s), err)
	}
	return value, true, nil
}

// Set sets the value. It is written with the call's result, in
// one commit; a call that asks a question, or fails to come back, sets nothing.
// Of parallel calls the one that ends last wins; [State.Update] loses nothing. [StateTemp] keys are set at once and never
// stored.
func (s State[T]) Set(ctx context.Context, value T) error {
	to, err := stateWriterOf(ctx, "State.Set")
	if err != nil {
		return err
	}
	if err := userdata.Key(string(s)); err != nil {
		return err
	}
	raw, err := userdata.Value(string(s), value)
	if err != nil {
		return err
	}
	to.SetState(string(s), raw)
	return nil
}

// Delete removes the value, under the rules of [State.Set].
func (s State[T]) Delete(ctx context.Context) error {
	to, err := stateWriterOf(ctx, "State.Delete")
	if err != nil {
		return err
	}
	if err := userdata.DeletedKey(string(s)); err != nil {
		return err
	}
	to.SetState(string(s), nil)
	return nil
}

// Update changes the value so that no parallel call's change is lost: change
// gets what is there, the zero value if nothing is, and returns what is to be there. It is
// called at once, and again when the call's result is written if another call has changed the
// value in between. So it should be quick and do nothing else. If it fails the second time, the
// call's result is an error, and nothing that the call set is kept.
//
// A value with [StateTemp] is changed at once, in one step.
func (s State[T]) Update(ctx context.Context, change func(old T) (T, error)) error {
	to, err := stateWriterOf(ctx, "State.Update")
	if err != nil {
		return err
	}
	key := string(s)
	if err := userdata.Key(key); err != nil {
		return err
	}
	return to.UpdateState(key, func(old json.RawMessage) (json.RawMessage, error) {
		var value T
		if old != nil {
			if err := json.Unmarshal(old, &value); err != nil {
				return nil, userdata.OtherType(key, err)
			}
		}
		value, err := change(value)
		if err != nil {
			return nil, err
		}
		return userdata.Value(key, value)
	})
}
