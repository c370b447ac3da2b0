package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Task is what a call of a Task tool asked for.
type Task struct {
	// Call is the id of the call, and Model the model that it named; empty for the agent's own.
	Call, Model string
	// Description is what the call said of the work.
	Description string
	// Dependent reports whether the run may end while the scope works in the background.
	Dependent bool
}

// Background holds the scopes that work for an agent in the background. A nil one holds none.
type Background struct {
	// Open are those that work, in the order of their calls.
	Open []*Scope
	// News are those that have ended since the model was told, in the order of their ends.
	News []*Scope
}

// Holds reports whether a scope works for which the run waits.
func (b *Background) Holds() bool {
	return b != nil && slices.ContainsFunc(b.Open, func(s *Scope) bool { return !s.Task.Dependent })
}

// Works reports whether a scope works.
func (b *Background) Works() bool { return b != nil && len(b.Open) > 0 }

// Ended returns the scopes that have ended since the model was told.
func (b *Background) Ended() []*Scope {
	if b == nil {
		return nil
	}
	return b.News
}

// tasked applies the opening of a scope by a Task tool.
func (r *Run) tasked(s *Scope, b *event.ScopeOpened) {
	s.Task = &Task{Call: b.Call, Model: b.Asked, Description: b.Description, Dependent: b.Dependent}
	r.Tasks = true
	if !b.Background {
		return
	}
	if s.Parent.Background == nil {
		s.Parent.Background = &Background{}
	}
	s.Parent.Background.Open = append(s.Parent.Background.Open, s)
}

// end applies the end of a scope.
func (s *Scope) end(closed *event.ScopeClosed) {
	s.Closed = closed
	if s.Parent == nil || s.Parent.Background == nil {
		return
	}
	b := s.Parent.Background
	if i := slices.Index(b.Open, s); i >= 0 {
		b.Open, b.News = slices.Delete(b.Open, i, i+1), append(b.News, s)
	}
}
