package decide

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Limits are the limits of an agent that decisions read. 0 and negative numbers mean no limit.
type Limits struct {
	// Cycles bounds the scope's own model calls; retries do not count.
	Cycles int
	// ToolCalls bounds the tool calls that the scope's own model requests.
	ToolCalls int
	// All bounds the scope together with the scopes below it.
	All Bounds
	// Conversation bounds all runs of the conversation together. Only the root agent's value counts.
	Conversation Bounds
	// Repeats bounds how often the same call may return nothing new.
	Repeats int
	// RepeatNote is the number of such calls after which the model gets a note.
	RepeatNote int
	// Outputs bounds how often structured output is requested again.
	Outputs int
}

// Bounds bound usage and cost.
type Bounds struct {
	Cycles       int
	ToolCalls    int
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	CostNanoUSD  int64
}

// words holds the parts of error messages about bounds.
type words struct {
	// whose begins the message; field and all are prefixes of the names of settings.
	whose, field, all string
}

// reached returns the command for the bound that allows no further model call. again reports whether the call is
// another attempt of one that already counts.
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

// limited returns the command for the limit that allows the scope no further model call: its own agent's, one of an
// agent above it, or the conversation's.
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

// conversationLimited checks the root agent's limits on the conversation.
func conversationLimited(root *fold.Scope, l *Limits, earlier *event.Spent, again bool) (Command, bool) {
	if l == nil || earlier == nil || l.Conversation == (Bounds{}) {
		return Command{}, false
	}
	spent := earlier.Add(root.Totals.Spent)
	return l.Conversation.reached(words{"the conversation", "Limits.Conversation.", ""}, &spent, again)
}

// scopesLimited ends a scope that requested more agents than the limits allow.
func scopesLimited(s *fold.Scope) Command {
	if s.Totals.Refused == event.StopLimitDepth {
		return limit(s.Totals.Refused, "agents would have called agents too many levels deep", "Limits.Depth")
	}
	return limit(s.Totals.Refused, "as many agents were called as may be", "Limits.Scopes")
}
