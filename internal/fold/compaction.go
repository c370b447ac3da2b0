package fold

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Compaction is the state of a scope's compaction, and of its model call for a summary.
type Compaction struct {
	State   ModelState
	Step    string
	Attempt int
	// Tries counts the attempts of the call.
	Tries int
	// Unreached counts the newest of those attempts that reached no server.
	Unreached int

	// Name is the model that writes the summary.
	Name string
	Why  event.Why
	// Err is why the newest attempt failed.
	Err *event.Error
	// RetryAt is when the next attempt may begin; zero means that there is none.
	RetryAt time.Time
	// Tried is the cycle of the last model call before which a compaction was tried.
	Tried int
}

// noCompaction is the compaction of most scopes. It must not be written to.
var noCompaction Compaction

// Compaction returns the state of the scope's compaction. The caller must not change it.
func (s *Scope) Compaction() *Compaction {
	if s.compaction == nil {
		return &noCompaction
	}
	return s.compaction
}

// changeCompaction returns the scope's own Compaction for writing.
func (s *Scope) changeCompaction() *Compaction {
	if s.compaction == nil {
		s.compaction = &Compaction{}
	}
	return s.compaction
}

// compacted applies to the counters that a scope's transcript was shortened.
func (v *Conversation) compacted(e *event.Event) {
	if e.Scope == "" {
		v.gauge = gauge{}
	}
	v.forgetSetups(e.Scope)
	s := v.Run.Scope(e.Scope)
	if s == nil {
		return
	}
	v.Run.Metrics.Compactions++
	s.gauge = gauge{}
	c := s.changeCompaction()
	c.State, c.Tries, c.Tried = ModelIdle, 0, max(c.Tried, e.Cycle)
	if s.Overflowed() && !s.Model.Eased {
		s.Model.Eased = true
		s.Model.Easings++
	}
}

// Overflowed reports whether the scope's model has refused the conversation as too long.
func (s *Scope) Overflowed() bool {
	return s.Model.State == ModelFailed && s.Model.Err != nil && s.Model.Err.Kind == event.ErrContextOverflow
}

func (c *Compaction) begin(e *event.Event, b *event.StepBegun) {
	tries, unreached := 1, 0
	if c.Step == e.Step {
		tries += c.Tries
		unreached = c.Unreached
	}
	*c = Compaction{
		State: ModelBegun, Step: e.Step, Attempt: e.Attempt, Tries: tries, Unreached: unreached, Name: b.Model, Why: b.Why, Tried: c.Tried,
	}
}

func (c *Compaction) end(e *event.Event, b *event.StepEnded) {
	c.Err, c.RetryAt = b.Err, b.RetryAt
	c.Unreached = countUnreached(c.Unreached, b.Err)
	switch b.Outcome {
	case event.OutcomeDone:
		c.State = ModelIdle
	case event.OutcomeLost, event.OutcomeCancelled, event.OutcomeStraggler:
		c.State = ModelLost
	default:
		c.State = ModelFailed
		if b.RetryAt.IsZero() {
			c.Tried = max(c.Tried, e.Cycle)
		}
	}
}
