package drive

import (
	"cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// The figures that Strands has found good, and how many tokens a model counts for that says nothing.
const (
	DefaultAt      = 0.7
	DefaultContext = 200_000
	DefaultEasings = 3
	DefaultRatio   = 0.3
	DefaultRecent  = 10
)

// unmanaged is how an agent that manages nothing is managed.
func unmanaged() Management {
	return Management{Policy: compact.Policy{Window: -1}, Tries: DefaultEasings}
}

// managed gives how the agent is managed.
func (a *Agent) managed() Management {
	if a.Manage == nil {
		return unmanaged()
	}
	return *a.Manage
}

// compaction says when the model is shown less of one of the agent's scopes.
func (a *Agent) compaction(s *fold.Scope) decide.Compaction {
	m := a.Manage
	if m == nil {
		return decide.Compaction{Window: -1, Threshold: -1, Tries: DefaultEasings}
	}
	c := decide.Compaction{Window: m.Window, Threshold: -1, Before: a.toldTokens(), Tries: m.Tries}
	if m.At > 0 {
		c.Threshold = m.threshold(s, a)
	}
	if m.KeepAll {
		c.Tries = -1
	}
	return c
}

// threshold is how many tokens a conversation may have before something is left out.
func (m *Management) threshold(s *fold.Scope, a *Agent) int64 {
	size := m.Context
	if size == 0 {
		size = cmp.Or(a.named(s.LastModel).Info().ContextWindow, DefaultContext)
	}
	return int64(m.At * float64(size))
}

// Asks gives the options with which the agent asks a model.
func (a *Agent) Asks(m model.Model) model.Options {
	o := a.Options
	if a.Manage != nil && a.Manage.Provider != nil {
		o.Context = a.Manage.Provider.of(m)
	}
	return o
}

// Left says that a model's provider cannot be left to manage the conversation.
func (a *Agent) Left(m model.Model) error {
	if a.Manage == nil || a.Manage.Provider == nil || a.Manage.Provider.of(m).Any() {
		return nil
	}
	return &event.Error{
		Kind: event.ErrUnsupported, Message: "the model's provider does not manage long conversations",
		Hint: "manage them with Summarize or SlidingWindow, or use another model",
	}
}

// projected estimates how many tokens the scope's next model call has.
func (a *Agent) projected(s *fold.Scope) int64 {
	tokens, whole := s.Tokens()
	if whole {
		return tokens
	}
	return tokens + a.toldTokens()
}

// toldTokens estimates what stands before the messages of each call.
func (a *Agent) toldTokens() int64 {
	return a.InstructionTokens + a.Current().Tokens
}
