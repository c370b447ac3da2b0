package braid_test

import (
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// An interruption that is said again under its key, because nobody heard that it was
// accepted, does not cancel what came after it.
func TestInterruptAgain(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	talk := braid.Open(store, "talk")
	d := newDesk()
	send := func(text, key string, policy braid.Policy) braid.Sent {
		t.Helper()
		sent, err := d.Send(t.Context(), talk, text, braid.During(policy), braid.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
	drive := func(run string, want event.RunStatus) {
		t.Helper()
		r, err := d.Drive(t.Context(), talk, run, braid.Work{})
		if err != nil || r.Status != want {
			t.Errorf("the run is %v, want %s: %v", r.Status, want, err)
		}
	}
	first := send("hello", "a", braid.Queue)
	stop := send("stop that", "b", braid.Interrupt)
	drive(first.Run, event.RunCancelled)
	drive(stop.Run, event.RunCompleted)
	last := send("hello again", "c", braid.Queue)

	again := send("stop that", "b", braid.Interrupt)
	if again.Run != stop.Run || len(again.Interrupted) > 0 {
		t.Errorf("said again it is run %s and interrupts %v, want %s and nothing", again.Run, again.Interrupted, stop.Run)
	}
	drive(last.Run, event.RunCompleted)
}
