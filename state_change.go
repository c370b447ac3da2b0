package braid

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/userdata"
)

// AnyVersion lets [Conversation.ChangeState] change whatever is there.
const AnyVersion = -1

// StateVersion is the number of the state as it stands: the Seq of the event that changed
// it last, 0 where none has. It rises with each change, and is the same for whoever reads the log.
// What other conversations write to "app:" and "user:" does not count.
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

// ChangeState changes the conversation's state between runs: it sets values, which are written as
// JSON, and removes keys. Where the state's version is another one than the caller has seen, the
// answer is [event.ErrConflict] and nothing is changed; [AnyVersion] changes it in any case. While
// a run is open its tools change the state, and the answer is ErrConflict or [event.ErrLocked].
//
// The change stands in the log as a run of its own, in which nothing else happens; of
// the options [For], [Executor] and [Metadata] are for it. Keys with [StateRun] and [StateTemp]
// are refused: they would be gone at once.
func (c *Conversation) ChangeState(ctx context.Context, version int64, set map[string]any, remove []string, opts ...RunOption) error {
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
