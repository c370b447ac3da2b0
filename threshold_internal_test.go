package braid

import (
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// A question of a hook before something ends no step: the time of what runs beside it counts.
func TestTimeRunsOnBesideAQuestion(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []*event.Event
	add := func(after time.Duration, step string, body event.Body) {
		e := &event.Event{Body: body}
		e.Seq, e.Run, e.Step, e.Attempt, e.Time = int64(len(log)+1), "r", step, 1, begun.Add(after)
		log = append(log, e)
	}
	add(0, "", &event.RunStarted{Agent: "a"})
	add(0, "m1", &event.StepBegun{Step: event.StepModel})
	add(0, "m1", &event.AssistantMessage{Content: []event.Block{&event.ToolCall{ID: "c", Name: "t"}}})
	add(0, "t1.0", &event.StepBegun{Step: event.StepTool, Call: "c"})
	add(time.Second, "", &event.Asked{Token: "q"})
	add(time.Minute, "t1.0", &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: "c"}})
	if v := fold.New(log); v.Run.Active != time.Minute {
		t.Errorf("%v counted", v.Run.Active)
	}
}
