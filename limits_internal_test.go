package braid

import (
	"testing"
	"time"
)

// The defaults are those that stand beside the fields of Limits: with no limits, with none set, and beside one
// that is.
func TestTheDefaultsOfLimits(t *testing.T) {
	t.Parallel()
	want := Limits{
		Cycles: 500, Depth: 8, Scopes: 256, Repeats: 5, RepeatNote: 3, Parallel: 64, OutputRetries: 3,
		ArgBytes: 1024 * 1024, ResultBytes: 8 * 1024 * 1024, AnswerBytes: 32 * 1024 * 1024, ToolTime: 10 * time.Minute, Grace: 2 * time.Second,
		LostDrivers: 3,
	}
	few := want
	few.TotalTokens = 7
	for name, c := range map[string]struct {
		agent *Agent
		want  Limits
	}{
		"no limits": {New("a", nil), want},
		"none set":  {New("a", nil, Limit(Limits{})), want},
		"one set":   {New("a", nil, Limit(Limits{TotalTokens: 7})), few},
	} {
		if *c.agent.bounded != c.want {
			t.Errorf("%s: %+v, want %+v", name, *c.agent.bounded, c.want)
		}
	}
}

// A model call is tried six times in all, after 4 seconds and then twice as many each time, 240 at most.
func TestTheDefaultsOfRetries(t *testing.T) {
	t.Parallel()
	if got, want := New("a", nil).set.Retry, (Retry{Attempts: 6, Base: 4 * time.Second, Max: 240 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
