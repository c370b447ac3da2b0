package postgres

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// State that is the tenant's or a user's is shared between conversations. The
// conversation's own is kept beside it, so that a log need not be read from its
// beginning to know it.
const (
	appOwner   = "app"
	appPrefix  = "app:"
	userPrefix = "user:"
)

func userOwner(user string) string                 { return "user/" + user }
func conversationOwner(conversation string) string { return "conversation/" + conversation }

// owner says whose a key is.
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

// slot is where a value of state stands.
type slot struct{ owner, name string }

// changes is what a batch leaves of the state: nil is a value that is gone.
type changes map[slot]json.RawMessage

// merge takes in what one event says.
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

// writes gives the statements. All conversations change values in one order, so
// that no two wait for each other.
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
