package decide

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Limits are the limits of an agent that decisions look at. 0 and negative numbers mean no bound.
type Limits struct {
	// Cycles and ToolCalls bound the scope's own model calls, without their repetitions, and the tool calls that they ask for.
	Cycles    int
	ToolCalls int
	// All bounds the scope together with those below it.
	All Bounds
	// Conversation bounds all runs of the conversation together. Only the root agent's counts.
	Conversation Bounds
	// Repeats bounds how often the same call may bring nothing new. RepeatNote is how often until the model is told.
	Repeats    int
	RepeatNote int
	// Outputs bounds how often output in its form is asked for again.
	Outputs int
}

// Bounds bound what is spent.
type Bounds struct {
	Cycles       int
	ToolCalls    int
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	CostNanoUSD  int64
}

// words are how errors speak of bounds.
type words struct {
	// whose begins the message, field and all the names of the settings.
	whose, field, all string
}

// reached says which bound allows no further model call; again is set for another attempt of one that counts already.
func (b *Bounds) reached(w words, spent *event.Spent, again bool) (Command, bool) {
	u := &spent.Usage
	switch {
	case b.Cycles > 0 && spent.Cycles >= b.Cycles && !again:
		return w.limit(event.StopLimitCycles, "model calls", w.all+"Cycles"), true
	case b.ToolCalls > 0 && spent.ToolCalls >= b.ToolCalls:
		return w.limit(event.StopLimitToolCalls, "tool calls", w.all+"ToolCalls"), true
	case b.TotalTokens > 0 && u.Total >= b.TotalTokens:
		return w.limit(event.StopLimitTotalTokens, "tokens", "TotalTokens"), true
	case b.OutputTokens > 0 && u.Output >= b.OutputTokens:
		return w.limit(event.StopLimitOutputTokens, "output tokens", "OutputTokens"), true
	case b.InputTokens > 0 && u.Input+u.CacheRead+u.CacheWrite >= b.InputTokens:
		return w.limit(event.StopLimitInputTokens, "input tokens", "InputTokens"), true
	case b.CostNanoUSD > 0 && spent.CostNanoUSD >= b.CostNanoUSD:
		return w.limit(event.StopLimitCost, "money", "CostNanoUSD"), true
	}
	return Command{}, false
}

func (w words) limit(stop event.StopReason, of, field string) Command {
	return limit(stop, w.whose+" reached its limit of "+of, w.field+field)
}

func limit(stop event.StopReason, message, field string) Command {
	return finish(event.WhyLimit, stop, &event.Error{
		Kind: event.ErrLimit, Message: message,
		Hint: "the conversation stays usable; raise " + field + " or continue it",
	})
}

// limited says which limit allows the scope no further model call: its own agent's, that of one above it, or the
// conversation's.
func limited(s *fold.Scope, p *Policy, why event.Why) (Command, bool) {
	if s.Totals.Refused != "" {
		return scopesLimited(s), true
	}
	again := Again(why)
	switch l := p.Limits; {
	case l.Cycles > 0 && s.Cycle-s.Totals.Base >= l.Cycles && !again:
		return limit(event.StopLimitCycles, "the run reached its limit of model calls", "Limits.Cycles"), true
	case l.ToolCalls > 0 && s.Totals.ToolCalls >= l.ToolCalls:
		return limit(event.StopLimitToolCalls, "the run reached its limit of tool calls", "Limits.ToolCalls"), true
	}
	for at, l := s, p.Limits; ; at, l = at.Parent, p.Team[at.Parent.Agent] {
		if l != nil && l.All != (Bounds{}) {
			w := words{"the run", "Limits.", "All"}
			if at.Depth > 0 {
				w.whose = "an agent used as a tool"
			}
			if cmd, over := l.All.reached(w, &at.Totals.Spent, again); over {
				return cmd, true
			}
		}
		if at.Depth == 0 || at.Parent == nil {
			return conversationLimited(at, l, p.Earlier, again)
		}
	}
}

// conversationLimited is limited for the root agent's budget.
func conversationLimited(root *fold.Scope, l *Limits, earlier *event.Spent, again bool) (Command, bool) {
	if l == nil || earlier == nil || l.Conversation == (Bounds{}) {
		return Command{}, false
	}
	spent := earlier.Add(root.Totals.Spent)
	return l.Conversation.reached(words{"the conversation", "Limits.Conversation.", ""}, &spent, again)
}

// scopesLimited ends a scope that asked for more agents than there may be.
func scopesLimited(s *fold.Scope) Command {
	if s.Totals.Refused == event.StopLimitDepth {
		return limit(s.Totals.Refused, "agents would have called agents too many levels deep", "Limits.Depth")
	}
	return limit(s.Totals.Refused, "as many agents were called as may be", "Limits.Scopes")
}
