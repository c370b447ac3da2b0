package journal

import "github.com/braidrun/braid/event"

// openStep is the attempt of a step that has begun and not ended, or has ended with a question. A
// step has at most one.
type openStep struct {
	step    string
	attempt int
	kind    event.StepKind
	asked   bool
}

// openSteps are a run's open steps. There are few, so that searching a slice from its end is
// faster than a map.
type openSteps []openStep

// after returns the open steps after events, or the conflict. It does not change its receiver: it
// copies it into space before the first change, and reports whether there was one.
func (open openSteps) after(op string, space openSteps, events []*event.Event) (after openSteps, copied bool, err error) {
	for n, e := range events {
		i := open.find(e.Step)
		running := i >= 0 && !open[i].asked
		named := i >= 0 && open[i].attempt == e.Attempt

		var ok bool
		switch body := e.Body.(type) {
		case *event.StepBegun:
			ok = i < 0 || e.Attempt > open[i].attempt
		case *event.StepEnded:
			ok = running && named ||
				!running && e.Step != "" && (e.Attempt == 0 || named && body.Outcome == event.OutcomeCancelled)
		case *event.AssistantMessage:
			if e.Step == "" {
				continue
			}
			ok = running && named && open[i].kind == event.StepModel
		case *event.Asked:
			if e.Step == "" || askedBefore(events[:n], e) {
				continue
			}
			ok = running && named && open[i].kind == event.StepTool
		default:
			continue
		}
		if !ok {
			return nil, false, &event.Error{
				Op: op, Kind: event.ErrConflict,
				Message: "a step begins that is open, or ends that is not",
				Hint:    "drop the results of this attempt: another one counts",
			}
		}

		if m, ok := e.Body.(*event.AssistantMessage); ok && m.Piece {
			continue // the rest of the answer ends the step
		}
		if !copied {
			open, copied = append(space[:0], open...), true
		}
		switch body := e.Body.(type) {
		case *event.StepBegun:
			begun := openStep{step: e.Step, attempt: e.Attempt, kind: body.Step}
			if i >= 0 {
				open[i] = begun
			} else {
				open = append(open, begun)
			}
		case *event.Asked:
			open[i].asked = true
		default:
			if i >= 0 {
				last := len(open) - 1
				open[i] = open[last]
				open = open[:last]
			}
		}
	}
	return open, copied, nil
}

func (open openSteps) find(step string) int {
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].step == step {
			return i
		}
	}
	return -1
}

// askedBefore reports whether the last event on e's step in the batch is a question of the same
// attempt.
func askedBefore(batch []*event.Event, e *event.Event) bool {
	for i := len(batch) - 1; i >= 0; i-- {
		if batch[i].Step != e.Step {
			continue
		}
		switch batch[i].Body.(type) {
		case *event.Asked:
			return batch[i].Attempt == e.Attempt
		case *event.StepBegun, *event.StepEnded, *event.AssistantMessage:
			return false
		}
	}
	return false
}
