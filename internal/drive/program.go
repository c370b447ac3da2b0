package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
)

// A foreign program works on a scope in the place of the loop: it calls models and tools by itself, and reports what it
// does. The driver writes that as the steps of the scope, with the same names, attempts and ends as its own ones, so
// everybody who reads the log sees no difference. What the log has is what a program is given after a crash.

// programOf returns what runs the foreign program that works in a scope; nil where the loop does.
func (d *activeRun) programOf(s *fold.Scope) StepRunner { return d.cfg.programs[s.Agent] }

// driveProgram does for a scope in which a program works what apply does for others. It reports whether the scope moved.
// The program goes on with whatever is next, unless the scope ends.
func (d *driver) driveProgram(s *fold.Scope, agent *Agent, cmd decide.Command) (moved bool) {
	working := d.programWork(s) != nil
	switch {
	case cmd.Do == decide.Wait:
		d.waitUntil(cmd.Until)
		return false
	case cmd.Do == decide.Finish && (!working || !answersOf(cmd.Why)):
		d.finish(s, cmd)
		return true
	case working, !s.Transcript.Whole() && !d.complete():
		return false
	}
	w := &Work{scope: s, agent: agent, step: programStep(s), attempt: 1, begun: d.now}
	w.Program = &programWork{why: cmd.Why, Messages: s.Transcript.Shared()}
	for _, c := range s.Batch.Calls {
		if c.State != fold.CallEnded {
			w.Program.Open = append(w.Program.Open, c.ToolCall)
		}
	}
	d.runs(s, w.step)
	d.exec.todo = append(d.exec.todo, w)
	return true
}

// answersOf reports whether a scope that ends for this reason has an answer. A program that works may go on after it.
func answersOf(why event.Why) bool {
	return why == event.WhyEndTurn || why == event.WhyNothing || why == event.WhyModelStop || why == event.WhyMaxTokens
}

// programStep names the work of a program among the running steps. No event has this name.
func programStep(s *fold.Scope) string { return "program " + s.ID }

// programWork returns the work of the program in a scope; nil where none works.
func (d *driver) programWork(s *fold.Scope) *Work {
	name := programStep(s)
	for _, list := range [][]*Work{d.exec.todo, d.exec.queue, d.exec.flights} {
		for _, w := range list {
			if w.step == name {
				return w
			}
		}
	}
	return nil
}

// takeProgram writes what a program reports. It reports whether the loop is to look. A report that does not fit the log
// ends the run.
func (d *driver) takeProgram(w *Work, r *ProgramReport) bool {
	s := w.scope
	switch {
	case r.Model != "" && s.Batch.Calls == nil && !d.modelOpen(s):
		d.beginProgramModel(w, r.Model)
	case r.Message != nil && d.modelOpen(s):
		d.ran(s, s.Model.Step)
		end := d.filterHooked(&modelEnd{message: r.Message}, d.guardsOf(w.agent, guardrail.Output))
		if end.message == nil {
			d.failWith(end.err)
			break
		}
		d.endModel(s, s.Model.Step, s.Model.Attempt, &modelCallEnd{message: end.message, guardedBy: end.guardedBy})
	case r.Call != "" && d.openCall(s, r.Call) != nil:
		c := d.openCall(s, r.Call)
		d.add(s, c.Step, c.Attempt+1, &event.StepBegun{Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: r.Effect, Args: c.Args})
		d.runs(s, c.Step)
	case r.Result != nil && d.begunCall(s, r.Result.Call) != nil:
		d.endProgramCall(w, d.begunCall(s, r.Result.Call), r.Result)
	default:
		d.failWith(errProgramReport)
	}
	return true
}

var errProgramReport = &event.Error{
	Op: "program", Kind: event.ErrInternal, Message: "the program reported what does not follow from what it had reported before",
}

// modelOpen reports whether the driver runs a model call of the scope.
func (d *activeRun) modelOpen(s *fold.Scope) bool {
	return s.Model.State == fold.ModelBegun && d.runsHere(s, s.Model.Step)
}

// runsHere reports whether this driver runs a step.
func (d *activeRun) runsHere(s *fold.Scope, step string) bool {
	return slices.Contains(d.thread(s).running, step)
}

// openCall returns the call of this id that is not made just now and has no result; nil for none.
func (d *activeRun) openCall(s *fold.Scope, id string) *fold.Call {
	for _, c := range s.Batch.Calls {
		if c.ID == id && c.State != fold.CallEnded && !d.runsHere(s, c.Step) {
			return c
		}
	}
	return nil
}

// begunCall returns the call of this id that is made just now; nil for none.
func (d *activeRun) begunCall(s *fold.Scope, id string) *fold.Call {
	for _, c := range s.Batch.Calls {
		if c.ID == id && c.State == fold.CallBegun && d.runsHere(s, c.Step) {
			return c
		}
	}
	return nil
}

// beginProgramModel writes that a program begins to call a model.
func (d *driver) beginProgramModel(w *Work, model string) {
	s, why := w.scope, whyNext(w)
	cycle, attempt := s.Cycle+1, 1
	if s.Model.State != fold.ModelIdle {
		cycle, attempt, why = s.Cycle, s.Model.Attempt+1, event.WhyTakenOver
	}
	step := fold.StepName(s.ID, 'm', cycle, 0)
	d.addAt(s, cycle, step, attempt, &event.StepBegun{Step: event.StepModel, Why: why, Model: model})
	d.runs(s, step)
}

// whyNext returns why a program makes its next model call.
func whyNext(w *Work) event.Why {
	if fresh := w.scope.Fresh; fresh != "" {
		return fresh
	}
	return w.Program.why
}

// stepOfPiece returns the step and the attempt that a live piece of a program belongs to.
func (d *activeRun) stepOfPiece(s *fold.Scope, piece event.Body) (step string, attempt int) {
	if p, ok := piece.(*event.ToolProgress); ok {
		if c := d.begunCall(s, p.Call); c != nil {
			return c.Step, c.Attempt
		}
	}
	return s.Model.Step, s.Model.Attempt
}

// endProgramCall passes the result of a tool through the stages after a call, and writes the end.
func (d *driver) endProgramCall(w *Work, c *fold.Call, result *event.ToolResult) {
	d.ran(w.scope, c.Step)
	t := newToolWork(w.scope, w.agent, c, c.Attempt)
	d.callFor(t.call, w.scope, c, c.Attempt)
	made := *result
	made.Name = c.Name
	t.end.skip, t.end.made = skipAgent, &made
	d.endUnrun(&t.Work)
}

// settleProgram takes in that a program has ended. It must have answered by then.
func (d *driver) settleProgram(w *Work) {
	s := w.scope
	d.ran(s, w.step)
	switch {
	case d.ctx.Err() != nil: // the run is to stop, or is interrupted: its open steps end, or stay begun
	case w.Program.err != nil:
		d.failWith(w.Program.err)
	case s.Batch.Calls != nil || s.Fresh != "" || d.modelOpen(s):
		d.failWith(&event.Error{Op: "program", Kind: event.ErrModel, Message: "the program ended without an answer"})
	}
}
