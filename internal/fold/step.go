package fold

import (
	"bytes"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
)

// This file folds the beginnings and ends of steps.

func (r *Run) begin(s *Scope, e *event.Event, b *event.StepBegun) {
	if b.Step == event.StepCompaction {
		s.changeCompaction().begin(e, b)
		r.Metrics.ModelCalls++
		return
	}
	if b.Step == event.StepModel {
		r.beginModel(s, e, b)
		return
	}
	if c := s.CallByStep(e.Step); c != nil && c.State != CallEnded {
		s.Before = nil
		if c.Attempt == 0 {
			r.Metrics.ToolCalls++
			toolMetrics(&r.Metrics, c.Name).Calls++
		}
		c.State = CallBegun
		c.Attempt = e.Attempt
		c.Effect = b.Effect
		c.begun = e.Time.UnixNano()
		args := b.Args
		if bytes.Equal(args, c.Args) {
			args = nil // the model's own
		}
		if c.extra != nil || args != nil || b.Runs != "" {
			more := c.changeExtra()
			more.Args, more.Runs, more.RetryAt = args, b.Runs, time.Time{}
		}
	}
}

func (r *Run) beginModel(s *Scope, e *event.Event, b *event.StepBegun) {
	if b.Tools != nil {
		s.Tools.Names = b.Tools
	}
	if e.Cycle > s.Cycle {
		s.Cycle = e.Cycle
		for p := s; p != nil; p = p.Parent {
			p.Totals.Spent.Cycles++
		}
		if s.Depth == 0 {
			r.Metrics.Cycles++
		}
	}
	s.Answer.Pieces = nil
	tries, unreached, easings, name := 1, 0, 0, b.Model
	if b.Runs != "" {
		name = b.Runs
	}
	if s.Model.Step == e.Step && s.Model.Name == name {
		tries += s.Model.Tries
		unreached = s.Model.Unreached
	}
	if s.Model.Step == e.Step {
		easings = s.Model.Easings
	}
	if e.Attempt == 1 {
		if s.Answer.Forced = b.Why == event.WhyAnswer; s.Answer.Forced {
			s.Answer.Asked++
		}
	}
	s.Model = ModelCall{
		State: ModelBegun, Step: e.Step, Attempt: e.Attempt, Tries: tries, Unreached: unreached, Easings: easings, Name: name,
	}
	s.LastModel = b.Model
	if s.Compaction().State != ModelIdle {
		s.changeCompaction().State = ModelIdle // the model is called without it
	}
	s.Totals.ModelCalls++
	r.Metrics.ModelCalls++
}

func (r *Run) end(s *Scope, e *event.Event, b *event.StepEnded, v *Conversation) {
	if b.Step == event.StepCompaction {
		r.count(s, s.Compaction().Name, b.Usage, b.CostNanoUSD, b.Estimated)
		s.changeCompaction().end(e, b)
		return
	}
	if b.Step == event.StepModel {
		r.count(s, s.Model.Name, b.Usage, b.CostNanoUSD, b.Estimated)
		r.Metrics.ModelErrors++
		if b.Outcome == event.OutcomeStraggler {
			r.Metrics.Stragglers++
		}
		s.Model.State = ModelFailed
		switch b.Outcome {
		case event.OutcomeLost, event.OutcomeCancelled, event.OutcomeStraggler:
			// The call itself did not fail, so the next driver repeats it.
			s.Model.State = ModelLost
		}
		s.Model.Err = b.Err
		s.Model.Unreached = countUnreached(s.Model.Unreached, b.Err)
		s.Model.RetryAt = b.RetryAt
		if b.ByHook {
			s.Model.Tries--
		}
		s.Model.Fallback = b.Fallback
		s.Model.Attempt = e.Attempt
		return
	}
	c := s.CallByStep(e.Step)
	if c == nil || c.State == CallEnded {
		return
	}
	r.files.add(b)
	if b.Result == nil && !b.RetryAt.IsZero() && c.State == CallBegun {
		// A hook or the tool's policy retries the call.
		c.State = CallAnswered
		more := c.changeExtra()
		more.RetryAt, more.Failed = b.RetryAt, b.Err != nil
		if !b.ByHook {
			more.Retries++
		}
		return
	}
	if b.Result == nil || b.Result.Call != c.ID {
		return
	}
	if c.Attempt > 0 && (b.Outcome == event.OutcomeDone || b.Outcome == event.OutcomeInDoubt ||
		b.Outcome == event.OutcomeStraggler) && c.Effect != event.EffectPure {
		done := effect{e.Step, b}
		r.Effects = append(r.Effects, done)
		if s.Depth > 0 && b.Outcome != event.OutcomeDone {
			l := r.leave()
			l.doubts = append(l.doubts, done)
		}
	}
	r.countTool(c, e, b)
	if b.Result.IsError && b.Err != nil && b.Err.Kind == event.ErrLimit {
		s.Totals.Refused = refusedScopes(b.Err)
	}
	c.State, c.ended = CallEnded, e.Seq
	c.Result = b.Result
	if len(b.Shown) > 0 {
		c.Result = &event.ToolResult{Call: c.ID, Name: c.Name, IsError: b.Result.IsError, Content: b.Shown}
	}
	if len(b.Found) > 0 {
		s.find(v, b.Found)
	}
	if b.Outcome == event.OutcomeDone || cancelledByHook(b) {
		c.sum = sumOf(c.ToolCall, b.Result)
	}
	if v.Hidden.has(e) {
		c.Result = &event.ToolResult{Call: c.ID, Name: c.Name, Content: compactedResult}
	} else if repl, ok := v.Hidden.Redacted[e.Seq]; ok {
		c.Result = &event.ToolResult{Call: c.ID, Name: c.Name, Content: repl}
	} else if v.Hidden.cuts(e) {
		c.Result = cutResult(c.Result)
	}
	if s.Batch.Direct {
		s.Batch.Done = doneWith(b, c.Result)
	}
	s.Batch.Settled++
	s.Batch.EndTurn = s.Batch.EndTurn || b.EndTurn
	if b.ReturnDirect && !b.Result.IsError && (s.Batch.Returned == nil || c.Index < s.Batch.Returned.Index) {
		s.Batch.Returned = c
		if s.Batch.Answer = c.Result; len(b.Shown) > 0 && !v.Hidden.has(e) && v.Hidden.Redacted[e.Seq] == nil {
			s.Batch.Answer = b.Result // off-loaded for the model, whole for people
		}
	}
	if s.Batch.Settled == len(s.Batch.Calls) {
		s.flush()
	}
}

// doneWith returns the end of a call with its whole result, or with the one that is shown where that is redacted.
func doneWith(b *event.StepEnded, result *event.ToolResult) *event.StepEnded {
	if len(b.Shown) > 0 || result == b.Result {
		return b
	}
	other := *b
	other.Result = result
	return &other
}

// cancelledByHook reports whether a hook cancelled the call, and not the end of its run.
func cancelledByHook(b *event.StepEnded) bool {
	return b.Outcome == event.OutcomeCancelled && b.Err != nil && b.Err.Kind == event.ErrPermission
}

// countTool counts the end of a tool call.
func (r *Run) countTool(c *Call, e *event.Event, b *event.StepEnded) {
	if b.Result.IsError {
		r.Metrics.ToolErrors++
	}
	if b.Outcome == event.OutcomeStraggler {
		r.Metrics.Stragglers++
	}
	if c.Attempt == 0 {
		return // it never began
	}
	m := toolMetrics(&r.Metrics, c.Name)
	if b.Result.IsError {
		m.Errors++
	}
	if c.Child == nil {
		m.Time += b.Duration
	} else if took := e.Time.UnixNano() - c.begun; took > 0 {
		m.Time += time.Duration(took)
	}
}

// find records the tools that a call found. It does not change lists that were returned before.
func (s *Scope) find(v *Conversation, names []string) {
	for _, name := range names {
		if !slices.Contains(s.Tools.Found, name) {
			s.Tools.Found = append(s.Tools.Found, name)
		}
	}
	if s.Depth == 0 {
		v.Found = slices.Clip(s.Tools.Found)
	}
}

// refusedScopes returns the limit on agents that an error's Code names; empty for any other error.
func refusedScopes(err *event.Error) event.StopReason {
	switch stop := event.StopReason(err.Code); stop {
	case event.StopLimitDepth, event.StopLimitScopes:
		return stop
	default:
		return ""
	}
}
