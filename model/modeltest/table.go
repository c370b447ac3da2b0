package modeltest

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
)

// FeaturesVariable names the folder in which a run of the contract writes down what
// it has seen, one file each; where it is not set, nothing is written.
const FeaturesVariable = "BRAID_FEATURES"

// State is how a provider stands to a feature.
type State string

// The states.
const (
	// Held says that the contract's tests of it passed.
	Held State = "held"
	// Absent says that the vendor does not have it.
	Absent State = "absent"
	Failed State = "failed"
	// Untried is a feature that the vendor has and no test has shown.
	Untried State = "untried"
)

// Seen is what a run of the contract saw of a provider, as its file holds it.
type Seen struct {
	Provider string            `json:"provider"`
	Features map[Feature]State `json:"features"`
}

// sighting collects what the tests of one run see.
type sighting struct {
	mu     sync.Mutex
	states map[Feature]State
}

func (s *sighting) count(t *testing.T, features []Feature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range features {
		switch {
		case t.Failed():
			s.states[f] = Failed
		case s.states[f] == "" && !t.Skipped():
			s.states[f] = Held
		}
	}
}

var plain = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// record writes down what was seen when all tests are over.
func (p *Provider) record(t *testing.T) {
	dir := os.Getenv(FeaturesVariable)
	if dir == "" || p.Unlisted {
		return
	}
	p.seen = &sighting{states: map[Feature]State{}}
	t.Cleanup(func() {
		seen := Seen{Provider: p.Name, Features: map[Feature]State{}}
		for _, f := range Features() {
			state := p.seen.states[f]
			switch {
			case !p.has(f):
				state = Absent
			case state == "":
				state = Untried
			}
			seen.Features[f] = state
		}
		if err := write(dir, plain.ReplaceAllString(p.Name+" "+t.Name(), "_")+".json", seen); err != nil {
			t.Error(err)
		}
	})
}

func write(dir, name string, seen Seen) error {
	b, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(root.WriteFile(name, b, 0o600), root.Close())
}
