package journal

import "github.com/braidrun/braid/event"

// openStep is an attempt that has begun and not ended. A step has at most one.
type openStep struct {
	step    string
	attempt int
	kind    event.StepKind
}

// stepsAfter follows the steps through events and gives those that are then
// open, or the conflict. open is left as it is: the first change copies it to
// scratch. Few steps are open at once, so a slice that is searched from its end
// beats a map.
func stepsAfter(op string, open, scratch []openStep, events []*event.Event) ([]openStep, error) {
	copied := false
	for _, e := range events {
		var kind event.StepKind
		switch body := e.Body.(type) {
		case *event.StepBegun:
			i := findStep(open, e.Step)
			if i >= 0 && e.Attempt <= open[i].attempt {
				return nil, stepConflict(op, "a step begins that runs already")
			}
			if !copied {
				open, copied = append(scratch, open...), true
			}
			begun := openStep{step: e.Step, attempt: e.Attempt, kind: body.Step}
			if i >= 0 {
				open[i] = begun
			} else {
				open = append(open, begun)
			}
			continue
		case *event.StepEnded:
			if e.Attempt == 0 && body.Outcome == event.OutcomeCancelled &&
				e.Step != "" && findStep(open, e.Step) < 0 {
				continue
			}
		case *event.AssistantMessage:
			if e.Step == "" {
				continue
			}
			kind = event.StepModel
		case *event.Asked:
			if e.Step == "" {
				continue
			}
			kind = event.StepTool
		default:
			continue
		}
		i := findStep(open, e.Step)
		if i < 0 || e.Attempt != open[i].attempt || kind != "" && kind != open[i].kind {
			return nil, stepConflict(op, "a step ends that has not begun or has ended")
		}
		if !copied {
			open, copied = append(scratch, open...), true
		}
		last := len(open) - 1
		open[i] = open[last]
		open = open[:last]
	}
	return open, nil
}

func findStep(open []openStep, step string) int {
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].step == step {
			return i
		}
	}
	return -1
}

func stepConflict(op, message string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: message,
		Hint: "drop the result: another attempt of the step counts",
	}
}
