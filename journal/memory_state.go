package journal

import (
	"encoding/json"
	"maps"

	"github.com/braidrun/braid/event"
)

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
