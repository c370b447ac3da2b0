package fold_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
	"github.com/braidrun/braid/internal/fold"
)

// Any events, in any order, are folded without a fault: a log that another version wrote must still open.
func TestAnyEventsAreFolded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := fold.New(nil)
		var o fold.Outline[struct{}, struct{}]
		for i, e := range rapid.SliceOfN(eventtest.Event(), 1, 40).Draw(t, "events") {
			e.Seq, e.Run = int64(i)+1, rapid.SampledFrom([]string{"r", "s"}).Draw(t, "run")
			e.Scope, e.Step = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "scope"), rapid.SampledFrom([]string{"", "m1", "t1.0"}).Draw(t, "step")
			switch b := e.Body.(type) {
			case *event.ScopeOpened:
				b.ID, b.Parent = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "opened"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "parent")
			case *event.ScopeClosed:
				b.ID = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "closed")
			}
			c.Add(&e)
			at := o.Add(&e)
			if _, begins := e.Body.(*event.StepBegun); begins && at.Thread != nil && at.Step == nil {
				t.Fatal("a step that begins is not known")
			}
		}
	})
}
