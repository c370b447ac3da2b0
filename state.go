package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// The prefixes of state keys. A key without one belongs to the conversation.
const (
	// StateApp is shared by all conversations of a tenant.
	StateApp = "app:"
	// StateUser is shared by all conversations of a tenant's user.
	StateUser = "user:"
	// StateRun lives for one run, and is kept with it: it survives a restart, and is gone when
	// the next run begins.
	StateRun = "run:"
	// StateTemp lives for one run, in memory only: it is never stored or sent, and is gone
	// after a restart.
	StateTemp = "temp:"
)

// stateBox is the folded state. The driver writes it while tools read it.
type stateBox struct {
	mu   sync.RWMutex
	kept map[string]json.RawMessage
	temp map[string]json.RawMessage
	// ofRun says that kept may hold values of the run.
	ofRun bool
	// version is the Seq of the last change, dated whether it is known.
	version int64
	dated   bool
}

// newState begins with what the log's unread part left; nil where there is none.
func newState(kept map[string]json.RawMessage) *stateBox {
	return &stateBox{kept: kept, ofRun: len(kept) > 0}
}

func (s *stateBox) apply(seq int64, b *event.StateChanged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.dated = seq, true
	for k := range b.Set {
		s.ofRun = s.ofRun || strings.HasPrefix(k, StateRun)
	}
	if s.kept == nil {
		s.kept = make(map[string]json.RawMessage, len(b.Set))
	}
	maps.Copy(s.kept, b.Set)
	for _, k := range b.Delete {
		delete(s.kept, k)
	}
}

// share takes over what other conversations wrote to "app:" and "user:".
func (s *stateBox) share(shared map[string]json.RawMessage) {
	if len(shared) == 0 && len(s.kept) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(k string, _ json.RawMessage) bool {
		return strings.HasPrefix(k, StateApp) || strings.HasPrefix(k, StateUser)
	})
	if s.kept == nil {
		s.kept = make(map[string]json.RawMessage, len(shared))
	}
	maps.Copy(s.kept, shared)
}

// newRun lets go of what belonged to the run before.
func (s *stateBox) newRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temp = nil
	if s.ofRun {
		maps.DeleteFunc(s.kept, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, StateRun) })
		s.ofRun = false
	}
}

func isTemp(key string) bool { return strings.HasPrefix(key, StateTemp) }

// updateTemp changes a value of the run's own in one step.
func (s *stateBox) updateTemp(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := change(s.temp[key])
	if err != nil {
		return err
	}
	if s.temp == nil {
		s.temp = make(map[string]json.RawMessage)
	}
	s.temp[key] = v
	return nil
}

func (s *stateBox) get(key string) (json.RawMessage, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if isTemp(key) {
		v, ok := s.temp[key]
		return v, ok
	}
	v, ok := s.kept[key]
	return v, ok
}

func (s *stateBox) setTemp(key string, v json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == nil {
		delete(s.temp, key)
		return
	}
	if s.temp == nil {
		s.temp = make(map[string]json.RawMessage)
	}
	s.temp[key] = v
}

// all copies the kept state.
func (s *stateBox) all() map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept := maps.Clone(s.kept)
	maps.DeleteFunc(kept, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, reservedName) })
	return kept
}

// run copies the run's own state, keys without their prefix; nil if there is none.
func (s *stateBox) run() map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.temp) == 0 && !s.ofRun {
		return nil
	}
	m := make(map[string]json.RawMessage, len(s.temp))
	if s.ofRun {
		for k, v := range s.kept {
			if name, own := strings.CutPrefix(k, StateRun); own {
				m[name] = v
			}
		}
	}
	for k, v := range s.temp {
		m[strings.TrimPrefix(k, StateTemp)] = v
	}
	return m
}

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
	if strings.HasPrefix(key, reservedName) {
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
	if strings.HasPrefix(key, reservedName) {
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
