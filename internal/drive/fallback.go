package drive

import (
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Models lists what the agent may ask, in order.
func (a *Agent) Models() []model.Model {
	if a.isFlow() {
		return nil
	}
	return append([]model.Model{a.Model}, a.Fallbacks...)
}

// named finds the agent's model of that name; its first one where none is called so.
func (a *Agent) named(name string) model.Model {
	for _, m := range a.Fallbacks {
		if m.Info().Name == name {
			return m
		}
	}
	return a.Model
}

// instead returns the model to ask after the one of that name has failed with err. It returns nil if that was the last
// one, or if neither err nor a cause of it has one of the kinds.
func (a *Agent) instead(name string, err *event.Error) model.Model {
	if len(a.Fallbacks) == 0 || !slices.ContainsFunc(a.FallbackOn, func(kind event.ErrorKind) bool { return errors.Is(err, kind) }) {
		return nil
	}
	next := 0
	for i, m := range a.Fallbacks {
		if m.Info().Name == name {
			next = i + 1
		}
	}
	if next == len(a.Fallbacks) {
		return nil
	}
	return a.Fallbacks[next]
}

// simulated reports whether any model of the run follows a script.
func (a *Agent) simulated(team map[string]*Agent) bool {
	simulated := func(m model.Model) bool { return m.Info().Simulated }
	if slices.ContainsFunc(a.Models(), simulated) {
		return true
	}
	for _, one := range team {
		if slices.ContainsFunc(one.Models(), simulated) {
			return true
		}
	}
	return false
}
