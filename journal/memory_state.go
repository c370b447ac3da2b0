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

// owner says whose a shared state is: a tenant's, or one user's in it. app
// tells the tenant's from that of a user without a name.
type owner struct {
	tenant string
	user   string
	app    bool
}

// share merges what of a change is shared into the state of the run's tenant
// and user. The rest is the conversation's and stands in its log.
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

// sharedWith gives the state that the run's user sees: the caller's own map,
// nil where there is none.
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
