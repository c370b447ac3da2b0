package tool

import (
	"context"
	"encoding/json"

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

// State names a value of the state and says its type. Declare it once, where everybody who uses
// it finds it:
//
//	const cart tool.State[[]string] = "cart"
//
// Values are kept as JSON, so T is whatever encoding/json reads and writes. The name's
// prefix says how long the value lives: [StateApp], [StateUser], [StateRun], [StateTemp], and
// none for the conversation. The methods work inside a tool, or in a hook around one.
type State[T any] string

// Get reads the value. It sees what this call has set itself, and what calls that have ended had set; ok is false if
// there is nothing.
func (s State[T]) Get(ctx context.Context) (value T, ok bool, err error) {
	c := CallOf(ctx)
	if c == nil {
		return value, false, NoCall("State.Get")
	}
	raw, ok := c.host.State(string(s))
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
	c := CallOf(ctx)
	if c == nil {
		return NoCall("State.Set")
	}
	if err := userdata.Key(string(s)); err != nil {
		return err
	}
	raw, err := userdata.Value(string(s), value)
	if err != nil {
		return err
	}
	c.host.SetState(string(s), raw)
	return nil
}

// Delete removes the value, under the rules of [State.Set].
func (s State[T]) Delete(ctx context.Context) error {
	c := CallOf(ctx)
	if c == nil {
		return NoCall("State.Delete")
	}
	if err := userdata.DeletedKey(string(s)); err != nil {
		return err
	}
	c.host.SetState(string(s), nil)
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
	c := CallOf(ctx)
	if c == nil {
		return NoCall("State.Update")
	}
	key := string(s)
	if err := userdata.Key(key); err != nil {
		return err
	}
	return c.host.UpdateState(key, func(old json.RawMessage) (json.RawMessage, error) {
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
