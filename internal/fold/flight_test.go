package fold_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

func TestFlightOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step string
		body event.Body
		want fold.Flight
	}{
		{"m1", &event.StepBegun{Step: event.StepModel}, fold.FlightBegins},
		{"m1", &event.AssistantMessage{Piece: true}, fold.FlightLogs},
		{"m1", &event.AssistantMessage{}, fold.FlightEnds},
		{"", &event.AssistantMessage{}, fold.FlightSame},
		{"t1.0", &event.StepEnded{Step: event.StepTool}, fold.FlightEnds},
		{"t1.0", &event.Asked{Token: "q"}, fold.FlightEnds},
		{"", &event.Asked{Token: "q"}, fold.FlightSame},
		{"t1.0", &event.StateChanged{}, fold.FlightSame},
		{"", &event.RunEnded{}, fold.FlightEndsAll},
	} {
		if got := fold.FlightOf(&event.Event{Header: event.Header{Step: c.step}, Body: c.body}); got != c.want {
			t.Errorf("a %s of the step %q: %d, want %d", c.body.Kind(), c.step, got, c.want)
		}
	}
}
