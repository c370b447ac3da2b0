package decide_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// Input is what was read, from a provider's cache or not, and what was written to it.
func TestABoundOfInputCountsTheCache(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usage event.Usage
		over  bool
	}{
		{event.Usage{Input: 40}, true},
		{event.Usage{CacheRead: 40}, true},
		{event.Usage{CacheWrite: 40}, true},
		{event.Usage{Input: 10, CacheRead: 20, CacheWrite: 10}, true},
		{event.Usage{Input: 10, CacheRead: 20, CacheWrite: 9, Output: 50}, false},
	} {
		s := fold.New(foldtest.Asked().Log).Run.Scopes[0]
		s.Totals.Spent.Usage = c.usage
		p := decidetest.Policy(decide.Limits{All: decide.Bounds{InputTokens: 40}})
		cmd := decide.CallModel(s, p, event.WhyInput)
		if over := cmd.Do == decide.Finish; over != c.over || over && cmd.Stop != event.StopLimitInputTokens {
			t.Errorf("%+v of 40: it does %d, %s", c.usage, cmd.Do, cmd.Stop)
		}
	}
}
