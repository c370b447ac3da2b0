package decide

import (
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Compaction says when a transcript is shortened.
type Compaction struct {
	// Window is the maximum number of messages; a negative number means no limit.
	Window int
	// Threshold is the number of tokens above which the transcript is shortened; a negative number means no limit.
	Threshold int64
	// Before is the estimated number of tokens before the messages of each call: instructions and tools.
	Before int64
	// Tries is how often the transcript is shortened if the model refuses the same call as too long; a negative number
	// means never.
	Tries int
	// Whole asks for the decision without a compaction, because nothing can be left out or a hook forbids it. A driver
	// sets it after a Compact that left nothing out, and carries out the new decision in the same round. The log does
	// not record it.
	Whole bool
}

// due reports whether the transcript must be shortened before the scope's next model call.
func (c *Compaction) due(s *fold.Scope) bool {
	if s.Compaction().Tried > s.Cycle {
		return false
	}
	if c.Window >= 0 && s.Transcript.Len() > c.Window && s.Transcript.Len() > 1 {
		return true
	}
	return c.Threshold >= 0 && c.projected(s) > c.Threshold
}

// projected estimates the tokens of the scope's next model call.
func (c *Compaction) projected(s *fold.Scope) int64 {
	tokens, whole := s.Tokens()
	if whole {
		return tokens
	}
	return tokens + c.Before
}

// stays reports whether the transcript stays unchanged before the scope's next model call: nothing can be left out, or
// the hooks before the call have asked a question. They ask only after the decision on a compaction.
func (p *Policy) stays(s *fold.Scope) bool {
	return p.Compaction.Whole || s.Before != nil && !s.Overflowed()
}

// compactionWhy returns the reason for a compaction before the scope's next model call.
func compactionWhy(s *fold.Scope) event.Why {
	if s.Overflowed() {
		return event.WhyOverflow
	}
	return event.WhyLimit
}

// nextCompaction decides for a compaction that has begun. It reports false if there is nothing to decide.
func nextCompaction(s *fold.Scope, p *Policy, now time.Time) (Command, bool) {
	c := s.Compaction()
	if p.stays(s) {
		return Command{}, false
	}
	switch c.State {
	case fold.ModelBegun:
		if p.runs(c.Step) {
			return wait(), true
		}
	case fold.ModelLost:
	case fold.ModelFailed:
		if c.RetryAt.IsZero() {
			return Command{}, false // the model is called without a compaction, or the run ends
		}
		if now.Before(c.RetryAt) {
			return Command{Do: Wait, Why: event.WhyRetry, Until: c.RetryAt}, true
		}
	default:
		return Command{}, false
	}
	return Command{Do: Compact, Why: compactionWhy(s)}, true
}

// nextEasing decides after a model refused the transcript as too long. It shortens the transcript and calls the model
// again. If that does not help, the run ends.
func nextEasing(s *fold.Scope, p *Policy) Command {
	if s.Model.Eased {
		return CallModel(s, p, event.WhyCompacted)
	}
	end := *s.Model.Err
	switch c := s.Compaction(); {
	case p.Compaction.Tries < 0:
	case p.Compaction.Whole:
		end.Hint = "nothing of the conversation can be left out any more: say less at once, or take a model with a larger context"
	case c.State == fold.ModelFailed && c.Why == event.WhyOverflow:
		end.Message = "the conversation does not fit the model's context, and no summary of it could be had"
		if c.Err != nil {
			end.Message += ": " + c.Err.Message
		}
		end.Hint = "ask again later, or begin a new session"
	case s.Model.Easings >= p.Compaction.Tries:
		end.Hint = "the conversation was shortened " + strconv.Itoa(s.Model.Easings) + " times and still does not fit: begin a new session, " +
			"or take a model with a larger context"
	default:
		return Command{Do: Compact, Why: event.WhyOverflow}
	}
	return finish(event.WhyFailed, event.StopContextOverflow, &end)
}
