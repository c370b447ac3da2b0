package main

import (
	"os/exec"
	"testing"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// The built command serves every kind of row: each answer is streamed in pieces, and each reader's run waits while
// its model does.
func TestCommandRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command")
	}
	t.Parallel()
	var c command
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	for _, row := range []serverRow{
		{ID: "burst", Streams: 2, Rounds: 2, Deltas: 4},
		{ID: "paced", Streams: 2, Rounds: 1, Deltas: 4, Every: time.Millisecond},
		{ID: "waiting", Streams: 2, Deltas: 4},
	} {
		row.Sides = []string{scenario.SideServe}
		var rep report
		var at homes
		if err := row.measure(t.Context(), &rep, 1, &at, c.ownProcess, "", &progress{}); err != nil {
			t.Fatalf("%s: %v", row.ID, err)
		}
		s := &rep.Served[0]
		if waits := row.Rounds == 0; waits != (s.KiBEach.Median > 0) || waits == (s.Rate.Median > 0) {
			t.Errorf("%+v", s)
		}
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip(errNoTracer)
	}
	var at homes
	if n, err := syncsOfRuns(t.Context(), &at, c.ownProcess); err != nil || n < 1 {
		t.Errorf("%v fsyncs a run, %v", n, err)
	}
}
