package agents

import (
	"time"

	"github.com/braidrun/braid"
)

// within lowers a run's limits to the operator's.
func within(l braid.Limits, own *braid.Limits) braid.Limits {
	l.Cycles = least(l.Cycles, own.Cycles)
	l.ToolCalls = least(l.ToolCalls, own.ToolCalls)
	l.AllCycles = least(l.AllCycles, own.AllCycles)
	l.AllToolCalls = least(l.AllToolCalls, own.AllToolCalls)
	l.InputTokens = least(l.InputTokens, own.InputTokens)
	l.OutputTokens = least(l.OutputTokens, own.OutputTokens)
	l.TotalTokens = least(l.TotalTokens, own.TotalTokens)
	l.CostNanoUSD = least(l.CostNanoUSD, own.CostNanoUSD)
	b, o := &l.Conversation, &own.Conversation
	b.Cycles = least(b.Cycles, o.Cycles)
	b.ToolCalls = least(b.ToolCalls, o.ToolCalls)
	b.InputTokens = least(b.InputTokens, o.InputTokens)
	b.OutputTokens = least(b.OutputTokens, o.OutputTokens)
	b.TotalTokens = least(b.TotalTokens, o.TotalTokens)
	b.CostNanoUSD = least(b.CostNanoUSD, o.CostNanoUSD)
	b.Active = least(b.Active, o.Active)
	return l
}

// least returns the smaller of two bounds. 0 means no bound.
func least[N int | int64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
