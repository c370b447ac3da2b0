package drive

import (
	"cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/tool"
)

// stage names one stage around a tool call. Stages combine to a set.
type stage uint16

// The stages, in the order in which a call passes them. The tool runs between stageInput and stageFit.
const (
	// stageBeforeHooks calls the hooks before the call.
	stageBeforeHooks stage = 1 << iota
	// stagePermissions asks the agent's policies, and the user where a policy says so.
	stagePermissions
	// stageInput refuses unknown tools and arguments that are not JSON.
	stageInput
	// stageFit makes the result one that the log can keep, and bounds its size.
	stageFit
	// stageGuardrails passes the result through the guardrails at results.
	stageGuardrails
	// stageAfterHooks calls the hooks after the call. What they return is fitted and guarded again.
	stageAfterHooks
	// stageRetry makes a failed call again, where a hook or the tool's retry policy asks for it.
	stageRetry
	// stageState applies updates of the state to its newest values, and writes what the call has set.
	stageState
	// stageOffload shortens what the model is shown of a large result.
	stageOffload
)

// callStage is one stage around a tool call. Exactly one of its functions is set.
type callStage struct {
	is stage
	// before runs ahead of the tool. It may refuse the call, or ask a question.
	before func(*driver, *toolWork)
	// beside runs after the tool, on the tool's goroutine or while the driver waits: it may call foreign code.
	beside func(*driver, *Work)
	// after runs on the driver, which may write events. It reports whether the call ends now.
	after func(*driver, *Work) bool
}

// callStages is the one ordered list of the stages around a tool call. Every end of a call passes it; [toolEnd.skip]
// names the stages that an end leaves out. Nothing stays on a stack from one commit to the next: a stage that must
// wait ends the attempt, or parks it with a question.
var callStages = [...]callStage{
	{is: stageBeforeHooks, before: (*driver).callBeforeHooks},
	{is: stagePermissions, before: (*driver).permit},
	{is: stageInput, before: (*driver).checkInput},
	{is: stageFit, beside: (*driver).fitResult},
	{is: stageGuardrails, beside: (*driver).guardResult},
	{is: stageAfterHooks, beside: (*driver).callAfterHooks},
	{is: stageRetry, after: (*driver).retryCall},
	{is: stageState, after: (*driver).keepState},
	{is: stageOffload, after: (*driver).offloadResult},
}

// The stages that some ends leave out, beside those that fixed words of Braid's own leave out, which are all.
const (
	// A refused call has no result of its own: its words are short, and repeating it would refuse it again.
	skipRefused = stageFit | stageRetry | stageOffload
	// An agent that is used as a tool is not called again: its model calls have their own retries.
	skipAgent = stageRetry
	// Where a tool could not say what became of an earlier attempt, no hook can mend that.
	skipUnknown = stageAfterHooks
)

// passBefore passes a call through the stages ahead of its tool.
func (d *driver) passBefore(w *toolWork) {
	for i := range callStages {
		if pass := callStages[i].before; pass != nil {
			pass(d, w)
		}
	}
}

// passBeside passes a call that has ended through the stages that may call foreign code. A call that waits for an
// answer has not ended.
func (d *driver) passBeside(w *Work) {
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
func (d *driver) passAfter(w *Work) bool {
	for i := range callStages {
		s := &callStages[i]
		if s.after != nil && w.end.skip&s.is == 0 && !s.after(d, w) {
			return false
		}
	}
	return true
}

// endRefused ends a begun call that never ran, with why as its error. State that hooks before it have set is kept.
func (d *driver) endRefused(w *toolWork, why *event.Error) {
	why.Op = "tool " + w.call.Name
	w.call.tool, w.call.did.returns = nil, false
	w.end.skip = skipRefused
	w.end.made, w.end.failure = errorResult(w.call.ID, w.call.Name, "Error: "+why.Message), why
	d.endUnrun(&w.Work)
}

// endUnrun ends a call for which no tool of this driver has run: a refused one, or one of an agent. Foreign code runs
// while the driver waits for it.
func (d *driver) endUnrun(w *Work) {
	w.call.traits = tool.Traits{}
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
