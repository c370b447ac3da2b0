package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// State names a value of the state and says its type. Declare it once, where all who use
// it find it:
//
//	const cart braid.State[[]string] = "cart"
//
// Values are kept as JSON, so T is whatever encoding/json reads and writes. The name's
// prefix says how long the value lives: [StateApp], [StateUser], [StateRun], [StateTemp], and
// none for the conversation.
type State[T any] string

// Get is [GetState] inside a tool or a hook around one.
func (s State[T]) Get(ctx context.Context) (value T, ok bool, err error) {
	return GetState[T](ctx, string(s))
}

// Set is [SetState] inside a tool.
func (s State[T]) Set(ctx context.Context, value T) error { return SetState(ctx, string(s), value) }

// Delete is [DeleteState] inside a tool.
func (s State[T]) Delete(ctx context.Context) error { return DeleteState(ctx, string(s)) }

// Update changes the value inside a tool, so that no parallel call's change is lost: change
// gets what is there, the zero value where nothing is, and gives what is to be there. It is
// called at once, and again when the call's result is written if another call has changed the
// value in between. So it should be quick and do nothing else. Where it fails the second time, the
// call's result is an error, and nothing that the call set is kept.
//
// A value with [StateTemp] is changed at once, in one step.
func (s State[T]) Update(ctx context.Context, change func(old T) (T, error)) error {
	c := CallOf(ctx)
	if c == nil {
		return outsideTool("Update")
	}
	key := string(s)
	if err := checkStateKey(key); err != nil {
		return err
	}
	return c.update(key, func(old json.RawMessage) (json.RawMessage, error) {
		var value T
		if old != nil {
			if err := json.Unmarshal(old, &value); err != nil {
				return nil, otherType(key, err)
			}
		}
		value, err := change(value)
		if err != nil {
			return nil, err
		}
		return stateJSON(key, value)
	})
}

// Of reads the value between runs, as [Conversation.State] has it.
func (s State[T]) Of(ctx context.Context, c *Conversation) (value T, ok bool, err error) {
	raw := json.RawMessage(nil)
	err = c.look(ctx, func(v *fold.Conversation) { raw, ok = v.State.Get(string(s)) })
	if err != nil || !ok {
		return value, false, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, true, otherType(string(s), err)
	}
	return value, true, nil
}

func otherType(key string, err error) error {
	return &event.Error{
		Op: "state " + key, Kind: event.ErrInvalid, Message: "the value is of another type",
		Hint: "read it as the type it was set with", Err: err,
	}
}

// stateUpdate is a change that was made to what was there then.
type stateUpdate struct {
	key    string
	old    json.RawMessage
	change func(old json.RawMessage) (json.RawMessage, error)
}

// update changes a value and remembers how, in case that another call is quicker.
func (c *Call) update(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	if fold.IsTemp(key) {
		return c.box.UpdateTemp(key, change)
	}
	c.mu.Lock()
	own, mine := c.writes[key]
	c.mu.Unlock()
	old := own
	if !mine {
		old, _ = c.box.Get(key)
	}
	value, err := change(old)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.writes == nil {
		c.writes = make(map[string]json.RawMessage)
	}
	if !mine || c.updating(key) {
		more := c.rarely()
		more.updates = append(more.updates, stateUpdate{key, old, change})
	}
	c.writes[key] = value
	return nil
}

// updating reports whether the call's value was made by updates alone. The caller holds mu.
func (c *Call) updating(key string) bool {
	return slices.ContainsFunc(c.rare().updates, func(u stateUpdate) bool { return u.key == key })
}

// rebase makes the changes of an ended call to what is there now.
func (c *Call) rebase() (err error) {
	if c.more == nil || len(c.more.updates) == 0 {
		return nil
	}
	updates := c.more.updates
	defer func() {
		if v := recover(); v != nil {
			err = panicked("state", "the function that changes the state", v)
		}
	}()
	now, same := make(map[string]json.RawMessage), make(map[string]bool)
	for i := range updates {
		u := &updates[i]
		value, known := now[u.key]
		if !known {
			if same[u.key] {
				continue
			}
			value, _ = c.box.Get(u.key)
			if same[u.key] = bytes.Equal(value, u.old); same[u.key] {
				continue // nobody was quicker, so what the call has made of it stands
			}
		}
		if now[u.key], err = u.change(value); err != nil {
			return err
		}
	}
	maps.Copy(c.writes, now)
	return nil
}

// errStateChanged tells the model that a change of the state came to nothing.
func errStateChanged(err error) error {
	var e *event.Error
	text := err.Error()
	if errors.As(err, &e) && e.Message != "" {
		text = e.Message
	}
	return &event.Error{
		Op: "state", Kind: event.ErrConflict,
		Message: "the state was changed by another call, and the change could not be made to that: " + text +
			". The tool itself had ended; it may have had its effect.",
		Err: err,
	}
}
