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
