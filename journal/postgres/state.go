package postgres

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// Conversations share the state of the tenant and the user. The conversation's own state is also stored, so that no
// reader needs the log from its beginning.
const (
	appOwner   = "app"
	appPrefix  = "app:"
	userPrefix = "user:"
)

func userOwner(user string) string                 { return "user/" + user }
func conversationOwner(conversation string) string { return "conversation/" + conversation }

// owner returns the owner of a key.
func (f *fence) owner(key string) string {
	switch {
	case strings.HasPrefix(key, appPrefix):
		return appOwner
	case strings.HasPrefix(key, userPrefix):
		return userOwner(f.user)
	default:
		return conversationOwner(f.id)
	}
}

// slot identifies a value of state.
type slot struct{ owner, name string }

// changes is the effect of a batch on the state; nil is a removed value.
type changes map[slot]json.RawMessage

// merge adds one event's changes.
func (c changes) merge(f *fence, change *event.StateChanged) {
	for key, value := range change.Set {
		if value == nil {
			value = json.RawMessage("null")
		}
		c[slot{f.owner(key), key}] = value
	}
	for _, key := range change.Delete {
		c[slot{f.owner(key), key}] = nil
	}
}

const (
	setState = `INSERT INTO state (tenant, owner, name, value)
		SELECT $1, * FROM unnest($2::text[], $3::bytea[], $4::bytea[])
		ON CONFLICT (tenant, owner, name) DO UPDATE SET value = excluded.value`

	deleteState = `DELETE FROM state s USING unnest($2::text[], $3::bytea[]) AS gone (owner, name)
		WHERE s.tenant = $1 AND s.owner = gone.owner AND s.name = gone.name`
)

// writes returns the statements. All conversations change values in the same order, so that they
// do not deadlock.
func (c changes) writes(tenant string) []question {
	slots := slices.SortedFunc(maps.Keys(c), func(a, b slot) int {
		return cmp.Or(strings.Compare(a.owner, b.owner), strings.Compare(a.name, b.name))
	})
	var owners, ownersGone []string
	var names, values, namesGone [][]byte
	for _, s := range slots {
		if value := c[s]; value != nil {
			owners, names, values = append(owners, s.owner), append(names, []byte(s.name)), append(values, value)
		} else {
			ownersGone, namesGone = append(ownersGone, s.owner), append(namesGone, []byte(s.name))
		}
	}
	var writes []question
	if len(owners) > 0 {
		writes = append(writes, do(setState, tenant, owners, names, values))
	}
	if len(ownersGone) > 0 {
		writes = append(writes, do(deleteState, tenant, ownersGone, namesGone))
	}
	return writes
}
