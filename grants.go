package braid

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/permission"
)

// Grants lists what users have allowed for this conversation, sorted by tool. Each grant has its Tool, and By if it is
// known who allowed it. It does not have the arguments, because only their hash is stored. Lasting grants are not the
// conversation's: see [Permissions].
func (c *Conversation) Grants(ctx context.Context) ([]grant.Grant, error) {
	kept, err := c.keptGrants(ctx)
	if err != nil {
		return nil, err
	}
	var list []grant.Grant
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		list = append(list, kept[key])
	}
	slices.SortStableFunc(list, func(a, b grant.Grant) int { return strings.Compare(a.Tool, b.Tool) })
	return list, nil
}

// Revoke takes back what was allowed for this conversation: for one tool, or for all if tool is empty. It returns how
// many grants that were; if there is none, it writes nothing. From the next call on, the user is asked again. The log
// records the change as [Conversation.ChangeState] does, and it is refused in the same cases.
func (c *Conversation) Revoke(ctx context.Context, tool string, opts ...SendOption) (int, error) {
	kept, err := c.keptGrants(ctx)
	if err != nil {
		return 0, err
	}
	changed := &event.StateChanged{}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if tool == "" || kept[key].Tool == tool {
			changed.Delete = append(changed.Delete, key)
		}
	}
	if len(changed.Delete) == 0 {
		return 0, nil
	}
	o := options(opts)
	err = c.log.Record(ctx, "revoke", "state", &o.Request, func(*fold.Conversation) ([]event.Body, error) { return []event.Body{changed}, nil })
	if err != nil {
		return 0, err
	}
	return len(changed.Delete), nil
}

// keptGrants are the conversation's own grants, by their keys in the state.
func (c *Conversation) keptGrants(ctx context.Context) (kept map[string]grant.Grant, err error) {
	err = c.log.Look(ctx, func(v *fold.Conversation) { kept = grantsOf(v.State) })
	return kept, err
}

// grantsOf gives the grants in the state, by their keys.
func grantsOf(s *fold.State) map[string]grant.Grant {
	kept := map[string]grant.Grant{}
	for key, raw := range s.WithPrefix(permission.KeyPrefix) {
		var g grant.Grant
		if json.Unmarshal(raw, &g) == nil {
			kept[key] = g
		}
	}
	return kept
}
