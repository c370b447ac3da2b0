package fold

import (
	"testing"

	"github.com/braidrun/braid/event"
)

// What is remembered of a scope has a bound, and costs a short run nothing.
func TestWhatIsKnownOfCallsHasABound(t *testing.T) { //nolint:paralleltest // it counts allocations
	var r Repeats
	one := []*Call{{ToolCall: &event.ToolCall{Name: "look"}}}
	for i := range 10 * knownRepeats {
		one[0].sum = uint64(i + 1)
		r.take(one, i)
	}
	if len(r.known) != knownRepeats || cap(r.known) > 2*knownRepeats || len(r.Since) != 1 || r.Most != 1 {
		t.Errorf("%d known in room for %d, %d since, %d at most", len(r.known), cap(r.known), len(r.Since), r.Most)
	}
	if n := testing.AllocsPerRun(10, func() {
		var s Scope
		for i := range 4 {
			one[0].sum = uint64(i + 1)
			s.countRepeats().take(one, i)
		}
	}); n > 1 {
		t.Errorf("four calls allocate %v times", n)
	}
}
