package braid_test

import (
	"context"
	"iter"
	"strconv"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// A manager that has nothing to leave out costs next to nothing. One that leaves something out folds
// the log for the first time alone.
func TestWhatManagingCosts(t *testing.T) { //nolint:paralleltest // it counts allocations
	cost := func(cycles int, parts ...braid.Part) float64 {
		llm := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == cycles {
				return chunks(says("done"))
			}
			return chunks(asksFor("add", `{"a":3,"b":`+strconv.Itoa(req.Cycle)+`}`))
		}}
		a := braid.New("a", llm, append(parts, braid.Func("add", "Adds.", add, tool.Pure()))...)
		return testing.AllocsPerRun(5, func() {
			if _, err := a.Run(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
		})
	}
	plain := cost(100)
	for name, m := range map[string]braid.Management{
		"summaries": {}, "a window that is never full": {By: braid.SlidingWindow(1000)},
	} {
		if managed := cost(100, braid.Manage(m)); managed > 1.02*plain {
			t.Errorf("%s: %.0f allocations instead of %.0f", name, managed, plain)
		}
	}
	sliding := braid.Manage(braid.Management{By: braid.SlidingWindow(40)})
	short, window := cost(10, sliding), cost(100, sliding)
	t.Logf("100 cycles: %.0f allocations, with a window of 40 %.0f; 10 cycles %.0f", plain, window, short)
	if window > 1.5*plain {
		t.Errorf("a window of 40: %.0f allocations instead of %.0f", window, plain)
	}
	if window > 12*short {
		t.Errorf("a window of 40: 100 cycles have %.0f allocations, and 10 have %.0f", window, short)
	}
}
