package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/secret"
)

// State implements [tool.Host].
func (c *runningCall) State(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	v, ok := c.did.writes[key]
	c.mu.Unlock()
	if ok {
		return v, v != nil
	}
	return c.box.Get(key)
}

// SetState implements [tool.Host].
func (c *runningCall) SetState(key string, v json.RawMessage) {
	if userdata.IsTemp(key) {
		c.box.SetTemp(key, v)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.did.writes == nil {
		c.did.writes = make(map[string]json.RawMessage)
	}
	c.did.writes[key] = v
	c.did.updates = slices.DeleteFunc(c.did.updates, func(u stateUpdate) bool { return u.key == key })
}

// stateUpdate is a change that was made to what was there then.
type stateUpdate struct {
	key    string
	old    json.RawMessage
	change func(old json.RawMessage) (json.RawMessage, error)
}

// UpdateState implements [tool.Host]. It remembers the change, in case that another call is quicker.
func (c *runningCall) UpdateState(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	if userdata.IsTemp(key) {
		return c.box.UpdateTemp(key, change)
	}
	c.mu.Lock()
	own, mine := c.did.writes[key]
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
	if c.did.writes == nil {
		c.did.writes = make(map[string]json.RawMessage)
	}
	if !mine || c.updating(key) {
		c.did.updates = append(c.did.updates, stateUpdate{key, old, change})
	}
	c.did.writes[key] = value
	return nil
}

// updating reports whether the call's value was made by updates alone. The caller holds mu.
func (c *runningCall) updating(key string) bool {
	return slices.ContainsFunc(c.did.updates, func(u stateUpdate) bool { return u.key == key })
}

// rebase makes the changes of an ended call to what is there now.
func (c *runningCall) rebase() (err error) {
	if len(c.did.updates) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = foreign.Panicked("state", "the function that changes the state", v)
		}
	}()
	now, same := make(map[string]json.RawMessage), make(map[string]bool)
	for i := range c.did.updates {
		u := &c.did.updates[i]
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
	maps.Copy(c.did.writes, now)
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

// maskedWrites is what the call has written to the state, without secrets.
func (c *runningCall) maskedWrites(m *secret.Mask) map[string]json.RawMessage {
	if m == nil {
		return c.did.writes
	}
	f := guardrail.New(c, []guardrail.Rule{{Name: "secrets", Mask: m}})
	for key, value := range c.did.writes {
		c.did.writes[key] = f.JSON(value)
	}
	return c.did.writes
}
