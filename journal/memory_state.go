package journal

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/braidrun/braid/event"
)

// The prefixes of state keys that are not the conversation's own.
const (
	appPrefix  = "app:"
	userPrefix = "user:"
	tempPrefix = "temp:"
)

// owner is the owner of shared state: a tenant, or a user in it. app distinguishes the tenant
// from a user without a name.
type owner struct {
	tenant string
	user   string
	app    bool
}

// share merges the shared part of a change into the state of the run's tenant and user. The rest
// belongs to the conversation and is in its log.
func (m *Memory) share(r *Run, change *event.StateChanged) {
	for key, value := range change.Set {
		o, ok := ownerOf(r, key)
		if !ok {
			continue
		}
		state := m.shared[o]
		if state == nil {
			if m.shared == nil {
				m.shared = make(map[owner]map[string]json.RawMessage)
			}
			state = make(map[string]json.RawMessage)
			m.shared[o] = state
		}
		state[key] = value
	}
	for _, key := range change.Delete {
		if o, ok := ownerOf(r, key); ok {
			delete(m.shared[o], key)
		}
	}
}

// sharedWith returns the shared state that the run's user sees. The map is the caller's; nil
// means none.
func (m *Memory) sharedWith(r *Run) map[string]json.RawMessage {
	if m.shared == nil {
		return nil
	}
	app := m.shared[owner{tenant: r.Tenant, app: true}]
	user := m.shared[owner{tenant: r.Tenant, user: r.User}]
	if len(app)+len(user) == 0 {
		return nil
	}
	state := make(map[string]json.RawMessage, len(app)+len(user))
	maps.Copy(state, app)
	maps.Copy(state, user)
	return state
}

func ownerOf(r *Run, key string) (owner, bool) {
	switch {
	case strings.HasPrefix(key, appPrefix):
		return owner{tenant: r.Tenant, app: true}, true
	case strings.HasPrefix(key, userPrefix):
		return owner{tenant: r.Tenant, user: r.User}, true
	default:
		return owner{}, false
	}
}
