package braid

import (
	"time"

	"github.com/braidrun/braid/event"
)

// compacting is where a scope's compaction stands.
type compacting struct {
	// state, step, attempt and tries are those of the model call for a summary, which goes to
	// the model called name.
	state   modelState
	step    string
	attempt int
	tries   int
	// unreached counts the newest tries that reached no server.
	unreached int

	name    string
	why     event.Why
	err     *event.Error
	retryAt time.Time
	// tried is the last cycle before whose model call a compaction was tried.
	tried int
}

// noCompaction is where the compaction of most scopes stands. Nobody writes to it.
var noCompaction compacting

// squeezed gives where the scope's compaction stands, to read.
func (s *scope) squeezed() *compacting {
	if s.squeeze == nil {
		return &noCompaction
	}
	return s.squeeze
}

// squeezing is squeezed to write.
func (s *scope) squeezing() *compacting {
	if s.squeeze == nil {
		s.squeeze = &compacting{}
	}
	return s.squeeze
}

// compacted takes in that the model is shown less of a scope.
func (v *view) compacted(e *event.Event) {
	if e.Scope == "" {
		v.gauge = gauge{}
	}
	v.forgetSetups(e.Scope)
	s := v.run.scope(e.Scope)
	if s == nil {
		return
	}
	v.run.metrics.Compactions++
	s.gauge = gauge{}
	c := s.squeezing()
	c.state, c.tries, c.tried = modelIdle, 0, max(c.tried, e.Cycle)
	if s.tooLong() && !s.model.eased {
		s.model.eased = true
		s.model.easings++
	}
}

// tooLong reports whether the scope's model has refused the conversation as too long.
func (s *scope) tooLong() bool {
	return s.model.state == modelFailed && s.model.err != nil && s.model.err.Kind == event.ErrContextOverflow
}

func (c *compacting) begin(e *event.Event, b *event.StepBegun) {
	tries, unreached := 1, 0
	if c.step == e.Step {
		tries += c.tries
		unreached = c.unreached
	}
	*c = compacting{
		state: modelBegun, step: e.Step, attempt: e.Attempt, tries: tries, unreached: unreached, name: b.Model, why: b.Why, tried: c.tried,
	}
}

func (c *compacting) end(e *event.Event, b *event.StepEnded) {
	c.err, c.retryAt = b.Err, b.RetryAt
	c.unreached = countUnreached(c.unreached, b.Err)
	switch b.Outcome {
	case event.OutcomeDone:
		c.state = modelIdle
	case event.OutcomeLost, event.OutcomeCancelled, event.OutcomeStraggler:
		c.state = modelLost
	default:
		c.state = modelFailed
		if b.RetryAt.IsZero() {
			c.tried = max(c.tried, e.Cycle)
		}
	}
}
