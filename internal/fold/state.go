package fold

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/userdata"
)

// State is the folded state. It is safe for concurrent use: the driver writes it while tools read it.
type State struct {
	mu   sync.RWMutex
	Kept map[string]json.RawMessage
	temp map[string]json.RawMessage
	// told are the "app:" and "user:" values as this log has them. Kept may have what other conversations wrote.
	told map[string]json.RawMessage
	// ofRun reports whether Kept may hold values of the run.
	ofRun bool
	// version is the Seq of the last change.
	version int64
	// dated reports whether version is known.
	dated bool
}

// newState returns a state that begins with kept, the state from the unread part of the log; nil for none.
func newState(kept map[string]json.RawMessage) *State {
	return &State{Kept: kept, ofRun: len(kept) > 0}
}

func (s *State) apply(seq int64, b *event.StateChanged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.dated = seq, true
	for k := range b.Set {
		s.ofRun = s.ofRun || strings.HasPrefix(k, userdata.RunPrefix)
	}
	s.tell(b.Set)
	if s.Kept == nil {
		s.Kept = make(map[string]json.RawMessage, len(b.Set))
	}
	maps.Copy(s.Kept, b.Set)
	for _, k := range b.Delete {
		delete(s.Kept, k)
		delete(s.told, k)
	}
}

// tell notes values that the log has and that conversations share.
func (s *State) tell(values map[string]json.RawMessage) {
	for k, v := range values {
		if !isShared(k) {
			continue
		}
		if s.told == nil {
			s.told = make(map[string]json.RawMessage)
		}
		s.told[k] = v
	}
}

// logged returns the kept values as the log has them.
func (s *State) logged() (values map[string]json.RawMessage) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	values = maps.Clone(s.Kept)
	maps.DeleteFunc(values, func(k string, _ json.RawMessage) bool { return isShared(k) })
	if values == nil && len(s.told) > 0 {
		values = make(map[string]json.RawMessage, len(s.told))
	}
	maps.Copy(values, s.told)
	return values
}

// Share replaces the "app:" and "user:" values with what other conversations wrote.
func (s *State) Share(shared map[string]json.RawMessage) {
	if len(shared) == 0 && len(s.Kept) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.Kept, func(k string, _ json.RawMessage) bool { return userdata.Shared(k) })
	if s.Kept == nil {
		s.Kept = make(map[string]json.RawMessage, len(shared))
	}
	maps.Copy(s.Kept, shared)
}

// newRun drops the values of the previous run.
func (s *State) newRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temp = nil
	if s.ofRun {
		maps.DeleteFunc(s.Kept, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, userdata.RunPrefix) })
		s.ofRun = false
	}
}

// UpdateTemp changes a temporary value of the run atomically.
func (s *State) UpdateTemp(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
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

// Get returns a value and reports whether it exists.
func (s *State) Get(key string) (json.RawMessage, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if userdata.IsTemp(key) {
		v, ok := s.temp[key]
		return v, ok
	}
	v, ok := s.Kept[key]
	return v, ok
}

// SetTemp sets a value that exists only in memory; nil deletes it.
func (s *State) SetTemp(key string, v json.RawMessage) {
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

// All returns a copy of the kept state without Braid's own values.
func (s *State) All() map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept := maps.Clone(s.Kept)
	maps.DeleteFunc(kept, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, userdata.Reserved) })
	return kept
}

// Run returns a copy of the run's own state, with keys without their prefix; nil if there is none.
func (s *State) Run() map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.temp) == 0 && !s.ofRun {
		return nil
	}
	m := make(map[string]json.RawMessage, len(s.temp))
	if s.ofRun {
		for k, v := range s.Kept {
			if name, own := strings.CutPrefix(k, userdata.RunPrefix); own {
				m[name] = v
			}
		}
	}
	for k, v := range s.temp {
		m[strings.TrimPrefix(k, userdata.TempPrefix)] = v
	}
	return m
}

// Version returns the Seq of the last change. known is false if the part of the log that was read has no change.
func (s *State) Version() (version int64, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version, s.dated
}

// WithPrefix returns a copy of the kept values whose keys have the prefix.
func (s *State) WithPrefix(prefix string) map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept := map[string]json.RawMessage{}
	for key, raw := range s.Kept {
		if strings.HasPrefix(key, prefix) {
			kept[key] = raw
		}
	}
	return kept
}
