package braid

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
)

// The prefixes of state keys. The root package says what they mean for users.
const (
	appPrefix  = "app:"
	userPrefix = "user:"
	runPrefix  = "run:"
	tempPrefix = "temp:"
)

// reservedName begins the names of questions and the keys of state that are Braid's own.
const reservedName = "braid."

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
		s.ofRun = s.ofRun || strings.HasPrefix(k, runPrefix)
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
		return strings.HasPrefix(k, appPrefix) || strings.HasPrefix(k, userPrefix)
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
		maps.DeleteFunc(s.kept, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, runPrefix) })
		s.ofRun = false
	}
}

func isTemp(key string) bool { return strings.HasPrefix(key, tempPrefix) }

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
			if name, own := strings.CutPrefix(k, runPrefix); own {
				m[name] = v
			}
		}
	}
	for k, v := range s.temp {
		m[strings.TrimPrefix(k, tempPrefix)] = v
	}
	return m
}

// dateOf is the state's version; false where it is older than what was read of the log.
func (s *stateBox) dateOf() (version int64, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version, s.dated
}

// reserved copies the values of Braid's own whose keys have the prefix.
func (s *stateBox) reserved(prefix string) map[string]json.RawMessage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept := map[string]json.RawMessage{}
	for key, raw := range s.kept {
		if strings.HasPrefix(key, prefix) {
			kept[key] = raw
		}
	}
	return kept
}
