package drive

import (
	"cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hooks"
)

// callStage is one stage around a tool call. Exactly one of its functions is set.
type callStage struct {
	is stage
	// before runs ahead of the tool. It may refuse the call, or ask a question.
	before func(*activeRun, *toolWork)
	// beside runs after the tool, on the tool's goroutine or while the driver waits: it may call foreign code.
	beside func(*activeRun, *Work)
	// after runs on the driver, which may write events. It reports whether the call ends now.
	after func(*activeRun, *Work) bool
}

// callStages is the one ordered list of the stages around a tool call. Every end of a call passes it; [toolEnd.skip]
// names the stages that an end leaves out. Nothing stays on a stack from one commit to the next: a stage that must
// wait ends the attempt, or parks it with a question.
var callStages = [...]callStage{
	{is: stageBeforeHooks, before: (*activeRun).callBeforeHooks},
	{is: stagePermissions, before: (*activeRun).permit},
	{is: stageInput, before: (*activeRun).checkInput},
	{is: stageFit, beside: (*activeRun).fitResult},
	{is: stageGuardrails, beside: (*activeRun).guardResult},
	{is: stageAfterHooks, beside: (*activeRun).callAfterHooks},
	{is: stageRetry, after: (*activeRun).retryCall},
	{is: stageState, after: (*activeRun).keepState},
	{is: stageOffload, after: (*activeRun).offloadResult},
}

// passBefore passes a call through the stages ahead of its tool.
func (d *activeRun) passBefore(w *toolWork) {
	for i := range callStages {
		if pass := callStages[i].before; pass != nil {
			pass(d, w)
		}
	}
}

// passBeside passes a call that has ended through the stages that may call foreign code. A call that waits for an
// answer has not ended.
func (d *activeRun) passBeside(w *Work) {
	if w.call.waits() {
		return
	}
	for i := range callStages {
		s := &callStages[i]
		if s.beside != nil && w.end.skip&s.is == 0 {
			s.beside(d, w)
		}
	}
}

// passAfter passes a call that has ended through the driver's own stages. It reports whether the call ends now.
func (d *activeRun) passAfter(w *Work) bool {
	for i := range callStages {
		s := &callStages[i]
		if s.after != nil && w.end.skip&s.is == 0 && !s.after(d, w) {
			return false
		}
	}
	return true
}

// endRefused ends a begun call that never ran, with why as its error. A call that a hook cancelled keeps the hook's
// words. State that hooks before it have set is kept.
func (d *activeRun) endRefused(w *toolWork, why *event.Error) {
	why.Op = "tool " + w.call.Name
	w.call.tool, w.call.did.returns = nil, false
	w.end.skip = skipRefused
	text := "Error: " + why.Message
	if w.decision.cancelled {
		w.end.outcome, text = event.OutcomeCancelled, why.Message
	}
	w.end.made, w.end.failure = errorResult(w.call.ID, w.call.Name, text), why
	d.endUnrun(&w.Work)
}

// endUnrun ends a call for which no tool of this driver has run: a refused one, or one of an agent. Foreign code runs
// while the driver waits for it.
func (d *activeRun) endUnrun(w *Work) {
	w.call.special = nil
	after, guards := w.agent.Hooks.At(hooks.AfterTool), w.call.guardrails()
	if len(after)+len(guards) == 0 {
		d.passBeside(w)
		d.settleCall(w)
		return
	}
	had, outcome, failure := *w.end.made, w.end.outcome, w.end.failure
	if d.runHooks(func() { d.passBeside(w) }) {
		d.settleCall(w)
		return
	}
	// The goroutine may still be at work on the call: nothing of it is read any more.
	w.call.close()
	if len(guards) > 0 {
		failure = &event.Error{
			Op: "tool " + w.call.Name, Kind: event.ErrCancelled, Message: "the run was stopped before its guardrails had looked at the result",
		}
		had = *errorResult(w.call.ID, w.call.Name, "Error: "+failure.Message+".")
	}
	d.endCall(w.scope, w.step, w.attempt, &callEnd{outcome: cmp.Or(outcome, event.OutcomeDone), result: &had, err: failure})
}

// fitResult is the stage of the size limits. It makes the result first, where the tool has run.
func (d *activeRun) fitResult(w *Work) {
	end := w.end
	if end.made == nil {
		end.make(w.call)
	}
	if bad := fit(w.call, w.agent.Limits.ResultBytes, end.made); bad != nil {
		end.failure = bad
	}
}
