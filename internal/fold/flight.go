package fold

import "github.com/braidrun/braid/event"

// Flight is what a durable event does to the steps in flight, whose live events are shown. A step that asked is not in
// flight, although it has no result.
type Flight uint8

// The changes to the steps in flight.
const (
	// FlightSame is for events that change nothing.
	FlightSame Flight = iota
	// FlightBegins is for an attempt that begins, in place of the step's earlier one.
	FlightBegins
	// FlightLogs is for a part of an answer that the log has from now on.
	FlightLogs
	// FlightEnds is for a step that is over, or that asked.
	FlightEnds
	// FlightEndsAll is for the end of a run, with all its steps.
	FlightEndsAll
)

// FlightOf returns what a durable event does to the steps in flight.
func FlightOf(e *event.Event) Flight {
	if _, ended := e.Body.(*event.RunEnded); ended {
		return FlightEndsAll
	}
	if e.Step == "" {
		return FlightSame // of no step, for example an answer without a model call
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		return FlightBegins
	case *event.AssistantMessage:
		if b.Piece {
			return FlightLogs
		}
		return FlightEnds
	case *event.StepEnded, *event.Asked:
		return FlightEnds
	}
	return FlightSame
}
