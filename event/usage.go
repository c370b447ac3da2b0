package event

import (
	"math"
	"slices"
)

// MostTokens is the largest count that [Usage.Clip] lets one model call have: far more than
// any model's context, and so few that no log can add up to an overflow.
const MostTokens = 1 << 30

// mostSearches is the largest number of searches that [Usage.Clip] lets one model call have.
const mostSearches = 1 << 20

// Add sums two usages field by field. A sum that does not fit is the largest number.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: AddCounts(u.Input, v.Input), Output: AddCounts(u.Output, v.Output), Total: AddCounts(u.Total, v.Total),
		CacheRead: AddCounts(u.CacheRead, v.CacheRead), CacheWrite: AddCounts(u.CacheWrite, v.CacheWrite),
		Reasoning: AddCounts(u.Reasoning, v.Reasoning), CacheWriteHour: AddCounts(u.CacheWriteHour, v.CacheWriteHour),
		WebSearches: AddCounts(u.WebSearches, v.WebSearches), FileSearches: AddCounts(u.FileSearches, v.FileSearches),
	}
}

// Prompt is how many tokens a model read: anew, from a cache and into one.
func (u Usage) Prompt() int64 { return AddCounts(AddCounts(u.Input, u.CacheRead), u.CacheWrite) }

// AddCounts adds two numbers. A sum that does not fit is the largest, or the smallest, number.
func AddCounts(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Clip gives the usage of one model call as it can be, and names what could not: a count
// below zero or above [MostTokens], more than a million searches, more tokens in a cache than in the prompt, and a part
// that is larger than its whole. Input below zero means that the provider counts more
// cached tokens than the prompt has, because Input is the prompt without them. A total
// that fits nothing becomes the sum. faults is nil for a usage that can be.
func (u Usage) Clip() (clipped Usage, faults []string) {
	doubt := func(what string) {
		if !slices.Contains(faults, what) {
			faults = append(faults, what)
		}
	}
	whole := u.Total
	for _, count := range [...]struct {
		n     *int64
		named string
	}{
		{&u.CacheRead, "tokens read from a cache"},
		{&u.CacheWrite, "tokens written to a cache"},
		{&u.Output, "output tokens"},
		{&u.Reasoning, "reasoning tokens"},
		{&u.CacheWriteHour, "tokens cached for an hour"},
		{&u.Input, "input tokens"},
	} {
		switch n := *count.n; {
		case n > MostTokens:
			*count.n = MostTokens
			doubt("too many " + count.named)
		case n < 0 && count.n == &u.Input && u.CacheRead+u.CacheWrite > 0:
			over := -max(n, -2*MostTokens)
			take := min(over, u.CacheWrite)
			u.CacheWrite -= take
			u.CacheRead -= min(over-take, u.CacheRead)
			u.Input = 0
			doubt("more tokens in a cache than in the prompt")
		case n < 0:
			*count.n = 0
			doubt("fewer than no " + count.named)
		}
	}
	if u.CacheWriteHour > u.CacheWrite {
		u.CacheWriteHour = u.CacheWrite
		doubt("more tokens cached for an hour than written to a cache")
	}
	if u.Reasoning > u.Output {
		u.Reasoning = u.Output
		doubt("more reasoning tokens than output tokens")
	}
	if whole < 0 || whole > 4*MostTokens {
		doubt("an impossible total")
	}
	if faults != nil {
		u.Total = u.Prompt() + u.Output
	}
	for _, n := range [...]*int64{&u.WebSearches, &u.FileSearches} {
		if *n < 0 || *n > mostSearches {
			*n = min(max(*n, 0), mostSearches)
			doubt("an impossible number of searches")
		}
	}
	return u, faults
}
