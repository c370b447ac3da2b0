package drive

import (
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
)

// This file ends steps. There is one function for each kind of step: endCall, endModel and endCompaction. Nothing
// else builds an [event.StepEnded].

// errorResult is a result that says why there is none.
func errorResult(call, name, text string) *event.ToolResult {
	return &event.ToolResult{Call: call, Name: name, IsError: true, Content: []event.Block{&event.Text{Text: text}}}
}

// callEnd says how one attempt of a tool call ends.
type callEnd struct {
	outcome event.Outcome
	// result is nil for an attempt that is made again.
	result *event.ToolResult
	// shown is what the model is shown instead; nil for the result as it is.
	shown []event.Block
	// err stands beside the result.
	err *event.Error
	// took is how long the tool ran.
	took time.Duration
	// retryAt is when the next attempt may begin; zero where there is none.
	retryAt time.Time
	// endTurn is set where the tool asked to end the turn.
	endTurn bool
	// returnDirect is set where the tool asked to make its result the agent's answer.
	returnDirect bool
	// found names the tools that the call has found.
	found []string
	// guardedBy names the guardrails that have taken something out of the result.
	guardedBy []string
	// event is an empty one to write the end with; nil for none.
	event *event.StepEnded
}

// endCall writes the end of one attempt of a tool call.
func (d *driver) endCall(s *fold.Scope, step string, attempt int, e *callEnd) {
	b := e.event
	if b == nil {
		b = &event.StepEnded{}
	}
	b.Step, b.Outcome, b.Duration, b.RetryAt = event.StepTool, e.outcome, e.took, e.retryAt
	b.Result, b.Shown, b.Err, b.Found = e.result, e.shown, e.err, e.found
	b.EndTurn, b.ReturnDirect = e.endTurn, e.returnDirect
	d.add(s, step, attempt, b)
	d.record(s, step, attempt, e.guardedBy)
}

// endCallInWords ends a call with fixed words of Braid's own. They pass no stage: nothing that a tool, a user or a
// model said stands in them.
func (d *driver) endCallInWords(s *fold.Scope, c *fold.Call, attempt int, outcome event.Outcome, text string) {
	d.endCall(s, c.Step, attempt, &callEnd{outcome: outcome, result: errorResult(c.ID, c.Name, text)})
}

// modelCallEnd says how one attempt of a model call ends.
type modelCallEnd struct {
	// message is the answer; nil where there is none.
	message *event.AssistantMessage
	// guardedBy names the guardrails that have taken something out of the answer.
	guardedBy []string

	// The other fields are for a call without an answer, and for a summary.
	outcome event.Outcome
	charge  cost.Charge
	// known says that the provider reported the usage.
	known bool
	err   *event.Error
	took  time.Duration
	// retryAt is when the next attempt may begin; zero where there is none.
	retryAt time.Time
	// fallback is the model that the next attempt asks; empty for the same one.
	fallback string
}

// endModel writes the end of one attempt of a model call: its answer, or why there is none.
func (d *driver) endModel(s *fold.Scope, step string, attempt int, e *modelCallEnd) {
	if e.message != nil {
		d.add(s, step, attempt, e.message)
		d.record(s, step, attempt, e.guardedBy)
		return
	}
	d.add(s, step, attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: e.outcome, Err: e.err, Duration: e.took, RetryAt: e.retryAt, Fallback: e.fallback,
		Usage: e.charge.Usage, UsageUnknown: !e.known, CostNanoUSD: e.charge.Nano, Estimated: e.charge.Estimated,
	})
}

// endCompaction writes the end of one attempt of the model call for a summary. cycle is that of the model call
// before which it stands.
func (d *driver) endCompaction(s *fold.Scope, cycle int, step string, attempt int, e *modelCallEnd) {
	d.addAt(s, cycle, step, attempt, &event.StepEnded{
		Step: event.StepCompaction, Outcome: e.outcome, Err: e.err, Duration: e.took, RetryAt: e.retryAt,
		Usage: e.charge.Usage, UsageUnknown: !e.known, CostNanoUSD: e.charge.Nano, Estimated: e.charge.Estimated,
	})
}

// endOpenSteps ends all steps of a scope that are still open, because the scope ends.
func (d *driver) endOpenSteps(s *fold.Scope) {
	for _, c := range slices.Clone(s.Batch.Calls) {
		if c.State != fold.CallEnded {
			d.endOpenCall(s, c)
		}
	}
	if s.Compaction().State == fold.ModelBegun {
		outcome, used := event.OutcomeCancelled, event.Usage{}
		if w := d.exec.flight(s.Compaction().Step); w != nil {
			outcome, used = event.OutcomeStraggler, w.usedUntilLeft()
			d.abandon(w)
		}
		d.endCompaction(s, s.Cycle, s.Compaction().Step, s.Compaction().Attempt, &modelCallEnd{
			outcome: outcome, charge: d.lostSummary(s, used),
		})
	}
	if s.Model.State == fold.ModelBegun {
		w, used := d.exec.flight(s.Model.Step), event.Usage{}
		if w != nil {
			used = w.usedUntilLeft()
		}
		end := &modelCallEnd{
			outcome: event.OutcomeCancelled, charge: d.lostCharge(s, s.Model.Name, used), known: used != event.Usage{},
		}
		if w != nil {
			end.outcome, end.err, end.took = event.OutcomeStraggler, leftBehind(s.Model.Name), d.now.Sub(w.begun)
			d.abandon(w)
		}
		d.endModel(s, s.Model.Step, s.Model.Attempt, end)
	}
}

// endOpenCall ends a tool call that is still open when its scope ends.
func (d *driver) endOpenCall(s *fold.Scope, c *fold.Call) {
	outcome, text := event.OutcomeCancelled, "The tool call was cancelled before it gave a result."
	if c.State == fold.CallNew {
		text = "The tool call was cancelled and never begun."
	}
	attempt := c.Attempt
	if !c.Extra().RetryAt.IsZero() {
		text, attempt = "The tool call failed, and was cancelled before it was made again.", 0 // that attempt has ended
	}
	if w := d.exec.flight(c.Step); w != nil {
		outcome = event.OutcomeStraggler
		text = "The tool " + strconv.Quote(c.Name) + " did not stop when it was cancelled and was left behind; it may still have an effect."
		d.abandon(w)
	}
	d.endCallInWords(s, c, attempt, outcome, text)
}

// leftBehind is the error of a model call that did not stop.
func leftBehind(model string) *event.Error {
	return &event.Error{
		Op: "model " + model, Kind: event.ErrCancelled, Message: "the model did not stop when it was cancelled and was left behind",
	}
}

// endLostSteps ends the steps of a scope that were in flight when another driver died, unless they may begin again.
func (d *driver) endLostSteps(s *fold.Scope) {
	if s.Model.State == fold.ModelBegun {
		d.endModel(s, s.Model.Step, s.Model.Attempt, &modelCallEnd{
			outcome: event.OutcomeLost, charge: d.lostCharge(s, s.Model.Name, event.Usage{}),
		})
	}
	if c := s.Compaction(); c.State == fold.ModelBegun {
		d.endCompaction(s, s.Cycle, c.Step, c.Attempt, &modelCallEnd{
			outcome: event.OutcomeLost, charge: d.lostSummary(s, event.Usage{}),
		})
	}
	for _, c := range slices.Clone(s.Batch.Calls) {
		if c.State == fold.CallBegun && c.Child == nil && !d.repeatable(s, c) {
			d.endCallInWords(s, c, c.Attempt, event.OutcomeInDoubt,
				"In doubt: the program stopped while this tool was running. It may or may not have taken effect. "+
					"Find out before doing it again.")
		}
	}
}

// endOverdueCall ends a call whose tool did not return in time. The tool is left behind.
func (d *driver) endOverdueCall(w *Work) {
	d.abandon(w)
	text := "Error: the tool " + strconv.Quote(w.call.Name) + " did not return in time and was left behind; it may still have an effect."
	d.endCall(w.scope, w.step, w.attempt, &callEnd{
		outcome: event.OutcomeStraggler, result: errorResult(w.call.ID, w.call.Name, text), took: d.now.Sub(w.begun),
		err: &event.Error{Op: "tool " + w.call.Name, Kind: event.ErrTimeout, Message: "the tool did not return in time"},
	})
}
