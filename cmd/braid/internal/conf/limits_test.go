package conf

import (
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
)

func TestLimitsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	want := braid.Budget{
		Cycles: 1, ToolCalls: 2, InputTokens: 3, OutputTokens: 4, TotalTokens: 5, CostNanoUSD: 60_000_000, Active: 7 * time.Second,
	}
	got, err := parseBudget("cycles=1, tool_calls=2,input_tokens=3,output_tokens=4,total_tokens=5,cost=0.06,time=7s")
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for list, says := range map[string]string{
		"turns=3": "use some of cycles", "cyles=3": "did you mean cycles?", "cost": "no amount", "cost=-1": "no amount", "cost=1e10": "no amount",
		"cost=1e-12": "less than can be counted", "time=x": "no time", "cycles=1.5": "no count", "=": "use some of",
	} {
		if _, err := parseBudget(list); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v", list, err)
		}
	}
	for text, nano := range map[string]int64{"0": 0, "0.50": 500_000_000, "2.5": 2_500_000_000, "0.000000001": 1} {
		var got int64
		if err := ParseDollars(&got, text); err != nil || got != nano {
			t.Errorf("%q gives %d, %v", text, got, err)
		}
	}
}
