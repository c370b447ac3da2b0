package conf

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// RunLimits returns the library's limits of a run.
func (s *Settings) RunLimits() braid.Limits {
	return braid.Limits{
		Cycles: s.MaxCycles, ToolCalls: s.MaxToolCalls, AllCycles: s.MaxCycles, AllToolCalls: s.MaxToolCalls,
		InputTokens: s.MaxInput, OutputTokens: s.MaxOutput, TotalTokens: s.MaxTotalTokens,
		CostNanoUSD: s.MaxCost, Conversation: s.Budget, LostDrivers: OrNever(s.LostDrivers),
	}
}

// RemoteLimits returns the same limits for a request to a server.
func (s *Settings) RemoteLimits() client.Limits {
	b := &s.Budget
	return client.Limits{
		Cycles: s.MaxCycles, ToolCalls: s.MaxToolCalls, TotalTokens: s.MaxTotalTokens,
		InputTokens: s.MaxInput, OutputTokens: s.MaxOutput, CostUSD: float64(s.MaxCost) / 1e9,
		Conversation: client.Budget{
			Cycles: b.Cycles, ToolCalls: b.ToolCalls, InputTokens: b.InputTokens, OutputTokens: b.OutputTokens,
			TotalTokens: b.TotalTokens, CostUSD: float64(b.CostNanoUSD) / 1e9, Seconds: int(math.Ceil(b.Active.Seconds())),
		},
	}
}

// ParseDollars reads an amount of US dollars into units of 1e-9 dollars.
func ParseDollars(nano *int64, v string) error {
	d, err := strconv.ParseFloat(v, 64)
	if err != nil || !(d >= 0 && d <= 1e9) {
		return errors.New("is no amount of US dollars such as 0.50")
	}
	n := int64(math.Round(d * 1e9))
	if d > 0 && n == 0 {
		return errors.New("is less than can be counted: use at least 0.000000001")
	}
	*nano = n
	return nil
}

// budgetNames lists the limits of a conversation.
var budgetNames = []string{"cycles", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost", "time"}

// parseBudget reads a list such as cost=2.50,total_tokens=200000.
func parseBudget(v string) (b braid.Budget, err error) {
	for _, one := range Words(v) {
		name, value, _ := strings.Cut(one, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch name {
		case "cycles":
			err = ParseCount(&b.Cycles, value)
		case "tool_calls":
			err = ParseCount(&b.ToolCalls, value)
		case "input_tokens":
			err = ParseCount(&b.InputTokens, value)
		case "output_tokens":
			err = ParseCount(&b.OutputTokens, value)
		case "total_tokens":
			err = ParseCount(&b.TotalTokens, value)
		case "cost":
			err = ParseDollars(&b.CostNanoUSD, value)
		case "time":
			b.Active, err = ParseTime(value)
		default:
			return b, errors.New("is not a list of limits: " + term.DidYouMean(name, budgetNames, "", "use some of "+strings.Join(budgetNames, ",")))
		}
		if err != nil {
			return b, errors.New("is not a list of limits: " + name + ": " + strconv.Quote(value) + " " + err.Error())
		}
	}
	return b, nil
}
