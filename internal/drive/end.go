package drive

import (
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
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
	// byHook says that a hook asked for that attempt.
	byHook bool
	// endTurn is set where the tool asked to end the turn.
	endTurn bool
	// returnDirect is set where the tool asked to make its result the agent's answer.
	returnDirect bool
	// found names the tools that the call has found.
	found []string
	// files are what the call did to files; moreFiles counts what the list lacks.
	files     []event.FileChange
	moreFiles int
	// guardedBy names the guardrails that have taken something out of the result.
	guardedBy []string
	// event is an empty one to write the end with; nil for none.
	event *event.StepEnded
}

// endCall writes the end of one attempt of a tool call.
func (d *activeRun) endCall(s *fold.Scope, step string, attempt int, e *callEnd) {
	b := e.event
	if b == nil {
		b = &event.StepEnded{}
	}
	b.Step, b.Outcome, b.Duration, b.RetryAt = event.StepTool, e.outcome, e.took, e.retryAt
	b.Result, b.Shown, b.Err, b.Found = e.result, e.shown, e.err, e.found
	b.EndTurn, b.ReturnDirect, b.ByHook = e.endTurn, e.returnDirect, e.byHook
	b.Files, b.MoreFiles = listed(e.files, e.moreFiles)
	d.add(s, step, attempt, b)
	d.record(s, step, attempt, e.guardedBy)
}

// endCallInWords ends a call with fixed words of Braid's own. They pass no stage: nothing that a tool, a user or a
// model said stands in them.
func (d *activeRun) endCallInWords(s *fold.Scope, c *fold.Call, attempt int, outcome event.Outcome, text string) {
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
	// byHook says that a hook asked for that attempt.
	byHook bool
	// fallback is the model that the next attempt asks; empty for the same one.
	fallback string
}

// endModel writes the end of one attempt of a model call: its answer, or why there is none.
func (d *activeRun) endModel(s *fold.Scope, step string, attempt int, e *modelCallEnd) {
	if e.message != nil {
		d.add(s, step, attempt, e.message)
		d.record(s, step, attempt, e.guardedBy)
		return
	}
	d.add(s, step, attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: e.outcome, Err: e.err, Duration: e.took, RetryAt: e.retryAt, ByHook: e.byHook, Fallback: e.fallback,
		Usage: e.charge.Usage, UsageUnknown: !e.known, CostNanoUSD: e.charge.Nano, Estimated: e.charge.Estimated,
	})
}

// endCompaction writes the end of one attempt of the model call for a summary. cycle is that of the model call
// before which it stands.
func (d *activeRun) endCompaction(s *fold.Scope, cycle int, step string, attempt int, e *modelCallEnd) {
	d.addAt(s, cycle, step, attempt, &event.StepEnded{
		Step: event.StepCompaction, Outcome: e.outcome, Err: e.err, Duration: e.took, RetryAt: e.retryAt,
		Usage: e.charge.Usage, UsageUnknown: !e.known, CostNanoUSD: e.charge.Nano, Estimated: e.charge.Estimated,
	})
}

// endLostSteps ends the steps of a scope that were in flight when another driver died, unless they may begin again.
func (d *activeRun) endLostSteps(s *fold.Scope) {
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

// repeatable reports whether a call that was in flight when its driver died may begin again. A call that is to be
// reconciled needs its tool: if the agent does not have that tool any more, the call does not begin again.
func (d *activeRun) repeatable(s *fold.Scope, c *fold.Call) bool {
	runs := c.Extra().Runs
	if runs != "" && d.offer(s, d.agentIn(s)).Tool(runs) == nil {
		return false // the agent does not have the tool any more that a hook put in this one's place
	}
	switch c.Effect {
	case event.EffectPure, event.EffectIdempotent:
		return true
	case event.EffectReconcilable:
		name := c.Name
		if runs != "" {
			name = runs
		}
		tl := d.offer(s, d.agentIn(s)).Tool(name)
		return tl != nil && tool.TraitsOf(tl).Reconcile != nil
	default:
		return false
	}
}
