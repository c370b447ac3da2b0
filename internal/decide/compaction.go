package decide

import (
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Compaction says when the model is shown less of a conversation.
type Compaction struct {
	// Window is how many messages are shown; a negative one means any number.
	Window int
	// Threshold is how many tokens a conversation may have before something is left out; a negative number
	// means any number.
	Threshold int64
	// Before is how many tokens stand before the messages of each call, by estimate: instructions and tools.
	Before int64
	// Tries is how often less is shown to a model that refuses the same call as too long; a negative one means never.
	Tries int
	// Whole asks what is done where nothing is left out: nothing can be, or a hook forbids it. A driver asks so when it carries
	// out a Compact from which nothing comes, and carries that out instead in the same round. It keeps no note of it.
	Whole bool
}

// due reports whether something is to be left out before the scope's next model call.
func (c *Compaction) due(s *fold.Scope) bool {
	if s.Compaction().Tried > s.Cycle {
		return false
	}
	if c.Window >= 0 && len(s.Transcript.Messages) > c.Window && len(s.Transcript.Messages) > 1 {
		return true
	}
	return c.Threshold >= 0 && c.projected(s) > c.Threshold
}

// projected estimates how many tokens the scope's next model call has.
func (c *Compaction) projected(s *fold.Scope) int64 {
	tokens, whole := s.Tokens()
	if whole {
		return tokens
	}
	return tokens + c.Before
}

// stays reports whether nothing is left out before the scope's next model call: nothing can be, or the hooks before the call have
// asked a question, which they do only once that is decided.
func (p *Policy) stays(s *fold.Scope) bool {
	return p.Compaction.Whole || s.Before != nil && !s.Overflowed()
}

// compactionWhy says for what reason there may be a compaction before the scope's next model call.
func compactionWhy(s *fold.Scope) event.Why {
	if s.Overflowed() {
		return event.WhyOverflow
	}
	return event.WhyLimit
}

// nextCompaction decides for a compaction that has begun.
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
			return Command{}, false // the model is called without it, or the run ends
		}
		if now.Before(c.RetryAt) {
			return Command{Do: Wait, Why: event.WhyRetry, Until: c.RetryAt}, true
		}
	default:
		return Command{}, false
	}
	return Command{Do: Compact, Why: compactionWhy(s)}, true
}

// nextEasing decides where a model has refused the conversation as too long: the model is called again once it is shown less,
// and the run ends where that does not help.
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
