package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

func (r *Run) ask(s *Scope, e *event.Event, b *event.Asked) {
	q := &Ask{Asked: *b, Step: e.Step, Scope: e.Scope}
	if e.Step == "" {
		s.ask(q)
		r.Questions = append(r.Questions, q)
		return
	}
	c := s.CallByStep(e.Step)
	if c == nil || c.State == CallEnded {
		return
	}
	more := c.changeExtra()
	more.Questions = append(more.Questions, q)
	c.State = CallAsked
	r.Questions = append(r.Questions, q)
}

func (r *Run) answer(b *event.Answered) {
	for _, q := range r.Questions {
		if q.Token != b.Token || q.Answered {
			continue
		}
		q.Answered, q.Value, q.By = true, b.Value, b.By
		s := r.Scope(q.Scope)
		if s == nil {
			return
		}
		if c := s.CallByStep(q.Step); c != nil && c.State == CallAsked &&
			!slices.ContainsFunc(c.Extra().Questions, func(q *Ask) bool { return !q.Answered }) {
			c.State = CallAnswered
		}
		return
	}
}

// OpenQuestions returns the questions that the run waits for.
func (r *Run) OpenQuestions() []event.Question {
	var open []event.Question
	for _, q := range r.Questions {
		if !q.Answered && !r.scopeEnded(q) {
			open = append(open, event.Question{Asked: q.Asked, Step: q.Step, Scope: q.Scope})
		}
	}
	return open
}

// scopeEnded reports whether the call that asked was closed without an answer.
func (r *Run) scopeEnded(q *Ask) bool {
	s := r.Scope(q.Scope)
	if s == nil || s.Closed != nil {
		return true
	}
	if q.Step == "" {
		return s.Before == nil || !slices.Contains(s.Before.Questions, q)
	}
	c := s.CallByStep(q.Step)
	return c == nil || c.State == CallEnded
}

// ask adds a question that the scope waits for.
func (s *Scope) ask(q *Ask) {
	if s.Before == nil {
		s.Before = &Threshold{}
	}
	s.Before.Questions = append(s.Before.Questions, q)
}
