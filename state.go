package braid

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/tool"
)

// The prefixes of state keys are those of package tool. A key without one belongs to the conversation.
const (
	// StateApp is shared by all conversations of a tenant.
	StateApp = tool.StateApp
	// StateUser is shared by all conversations of a tenant's user.
	StateUser = tool.StateUser
	// StateRun lives for one run, and is kept with it: it survives a restart, and is gone when
	// the next run begins.
	StateRun = tool.StateRun
	// StateTemp lives for one run, in memory only: it is never stored or sent, and is gone
	// after a restart.
	StateTemp = tool.StateTemp
)

// State is [tool.State], which can also be read between runs. It names a value of the state and says its type. Declare it
// once, where everybody who uses it finds it:
//
//	const cart braid.State[[]string] = "cart"
//
// Values are kept as JSON, so T is whatever encoding/json reads and writes. The name's
// prefix says how long the value lives: [StateApp], [StateUser], [StateRun], [StateTemp], and
// none for the conversation.
type State[T any] string

// Get is [tool.State.Get]: it reads the value inside a tool or a hook around one.
func (s State[T]) Get(ctx context.Context) (value T, ok bool, err error) {
	return tool.State[T](s).Get(ctx)
}

// Set is [tool.State.Set]: it sets the value inside a tool.
func (s State[T]) Set(ctx context.Context, value T) error { return tool.State[T](s).Set(ctx, value) }

// Delete is [tool.State.Delete]: it removes the value inside a tool.
func (s State[T]) Delete(ctx context.Context) error { return tool.State[T](s).Delete(ctx) }

// Update is [tool.State.Update]: it changes the value inside a tool so that no parallel call's change is lost.
func (s State[T]) Update(ctx context.Context, change func(old T) (T, error)) error {
	return tool.State[T](s).Update(ctx, change)
}

// Of reads the value between runs, as [Conversation.State] has it.
func (s State[T]) Of(ctx context.Context, c *Conversation) (value T, ok bool, err error) {
	raw := json.RawMessage(nil)
	err = c.log.Look(ctx, func(v *fold.Conversation) { raw, ok = v.State.Get(string(s)) })
	if err != nil || !ok {
		return value, false, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, true, userdata.OtherType(string(s), err)
	}
	return value, true, nil
}

// givenState is what a caller gives a run, as JSON.
func givenState(values map[string]any) (map[string]json.RawMessage, error) {
	m := make(map[string]json.RawMessage, len(values))
	for key, value := range values {
		if err := userdata.Key(key); err != nil {
			return nil, err
		}
		raw, err := userdata.Value(key, value)
		if err != nil {
			return nil, err
		}
		m[key] = raw
	}
	return m, nil
}

// AnyVersion lets [Conversation.ChangeState] change the state at any version.
const AnyVersion = -1

// StateVersion returns the version of the state: the Seq of the event that changed it last, or 0. Each change raises
// it, and every reader of the log sees the same one. Changes of "app:" and "user:" keys by other conversations do not
// count.
func (c *Conversation) StateVersion(ctx context.Context) (version int64, err error) {
	known := false
	err = c.log.Look(ctx, func(v *fold.Conversation) { version, known = v.State.Version() })
	if err != nil || known {
		return version, err
	}
	v, err := c.log.WholeView(ctx)
	if err != nil {
		return 0, err
	}
	version, _ = v.State.Version()
	return version, nil
}

// ChangeState changes the conversation's state between runs: it sets values, which are written as JSON, and removes
// keys. If version is not the state's version ([Conversation.StateVersion]), the error is [event.ErrConflict] and
// nothing changes; [AnyVersion] fits every version. While a run is open, the error is ErrConflict or
// [event.ErrLocked].
//
// The log records the change as a run in which nothing else happens. The options [For], [Executor] and [Metadata]
// apply to it. Keys with [StateRun] and [StateTemp] are refused, because they live only for a run.
func (c *Conversation) ChangeState(ctx context.Context, version int64, set map[string]any, remove []string, opts ...SendOption) error {
	const op = "change state"
	changed := &event.StateChanged{Set: make(map[string]json.RawMessage, len(set)), Delete: slices.Clone(remove)}
	for key, value := range set {
		raw, err := userdata.Value(key, value)
		if err != nil {
			return err
		}
		changed.Set[key] = raw
	}
	for key := range changed.Set {
		remove = append(remove, key)
	}
	for _, key := range remove {
		if err := userdata.Key(key); err != nil {
			return err
		}
		if userdata.IsTemp(key) || strings.HasPrefix(key, StateRun) {
			return &event.Error{
				Op: op, Kind: event.ErrInvalid, Message: "the state of one run cannot be changed from outside",
				Hint: "leave the prefix out, or use WithState",
			}
		}
	}
	if len(remove) == 0 {
		return &event.Error{Op: op, Kind: event.ErrInvalid, Message: "nothing is to be changed", Hint: "name a value"}
	}
	o := options(opts)
	return c.log.Record(ctx, op, "state", &o.Request, func(v *fold.Conversation) ([]event.Body, error) {
		if version != AnyVersion {
			now, known := v.State.Version()
			if !known {
				whole, err := c.log.WholeView(ctx)
				if err != nil {
					return nil, err
				}
				now, _ = whole.State.Version()
			}
			if now != version {
				return nil, &event.Error{
					Op: op, Kind: event.ErrConflict, Message: "the state has changed since it was read",
					Hint: "read it again, and change what is there now",
				}
			}
		}
		return []event.Body{changed}, nil
	})
}
