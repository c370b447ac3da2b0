package service

import (
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service/directory"
)

// within lowers limits to those of d.
func within(l braid.Limits, d *directory.Limits) braid.Limits {
	lower(&l.Cycles, d.Cycles)
	lower(&l.AllCycles, d.Cycles)
	lower(&l.ToolCalls, d.ToolCalls)
	lower(&l.AllToolCalls, d.ToolCalls)
	lower(&l.InputTokens, d.InputTokens)
	lower(&l.OutputTokens, d.OutputTokens)
	lower(&l.TotalTokens, d.TotalTokens)
	lower(&l.CostNanoUSD, int64(d.Cost))
	lower(&l.Active, time.Duration(min(int64(d.Seconds), int64(mostTime/time.Second)))*time.Second)
	return l
}

// mostTime keeps a number of seconds within the range of a duration.
const mostTime = 1<<63 - 1

// lower sets a bound to the smaller of two. 0 means no bound.
func lower[N int | int64 | time.Duration](bound *N, to N) {
	if to > 0 && (*bound == 0 || to < *bound) {
		*bound = to
	}
}
