package braid

import (
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// How the fold takes steps and questions in: what begins, what ends, what a person is asked.

func (r *runView) begin(s *scope, e *event.Event, b *event.StepBegun) {
	if b.Step == event.StepCompaction {
		s.squeezing().begin(e, b)
		r.metrics.ModelCalls++
		return
	}
	if b.Step == event.StepModel {
		r.beginModel(s, e, b)
		return
	}
	if c := s.callByStep(e.Step); c != nil && c.state != callEnded {
		s.before = nil
		if c.attempt == 0 {
			r.metrics.ToolCalls++
			r.metrics.tool(c.Name).Calls++
		}
		c.state = callBegun
		c.attempt = e.Attempt
		c.effect = b.Effect
		c.begun = e.Time.UnixNano()
		if c.more != nil || b.Args != nil || b.Runs != "" {
			more := c.rarely()
			more.args, more.runs, more.retryAt = b.Args, b.Runs, time.Time{}
		}
	}
}

func (r *runView) beginModel(s *scope, e *event.Event, b *event.StepBegun) {
	if b.Tools != nil {
		s.tools = b.Tools
	}
	if e.Cycle > s.cycle {
		s.cycle = e.Cycle
		for p := s; p != nil; p = p.parent {
			p.spent.Cycles++
		}
		if s.depth == 0 {
			r.metrics.Cycles++
		}
	}
	s.pieces = nil
	tries, unreached, easings, name := 1, 0, 0, b.Model
	if b.Runs != "" {
		name = b.Runs
	}
	if s.model.step == e.Step && s.model.name == name {
		tries += s.model.tries
		unreached = s.model.unreached
	}
	if s.model.step == e.Step {
		easings = s.model.easings
	}
	if e.Attempt == 1 {
		if s.forced = b.Why == event.WhyAnswer; s.forced {
			s.asked++
		}
	}
	s.model = modelStep{
		state: modelBegun, step: e.Step, attempt: e.Attempt, tries: tries, unreached: unreached, easings: easings, name: name,
	}
	s.asks = b.Model
	if s.squeezed().state != modelIdle {
		s.squeezing().state = modelIdle // the model is called without it
	}
	s.modelCalls++
	r.metrics.ModelCalls++
}

// countUnreached counts attempts in a row that reached no server.
func countUnreached(n int, err *event.Error) int {
	if model.Unreached(err) {
		return n + 1
	}
	return 0
}

func (r *runView) end(s *scope, e *event.Event, b *event.StepEnded, v *view) {
	if b.Step == event.StepCompaction {
		r.count(s, s.squeezed().name, b.Usage, b.CostNanoUSD, b.Estimated)
		s.squeezing().end(e, b)
		return
	}
	if b.Step == event.StepModel {
		r.count(s, s.model.name, b.Usage, b.CostNanoUSD, b.Estimated)
		r.metrics.ModelErrors++
		if b.Outcome == event.OutcomeStraggler {
			r.metrics.Stragglers++
		}
		s.model.state = modelFailed
		switch b.Outcome {
		case event.OutcomeLost, event.OutcomeCancelled, event.OutcomeStraggler:
			// Nothing is wrong with the call: who goes on with the run repeats it.
			s.model.state = modelLost
		}
		s.model.err = b.Err
		s.model.unreached = countUnreached(s.model.unreached, b.Err)
		s.model.retryAt = b.RetryAt
		s.model.fallback = b.Fallback
		s.model.attempt = e.Attempt
		return
	}
	c := s.callByStep(e.Step)
	if c == nil || c.state == callEnded {
		return
	}
	if b.Result == nil && !b.RetryAt.IsZero() && c.state == callBegun {
		// A hook, or the tool's policy, wants it made again.
		c.state = callAnswered
		more := c.rarely()
		more.retryAt, more.failed = b.RetryAt, b.Err != nil
		more.repeats++
		return
	}
	if b.Result == nil || b.Result.Call != c.ID {
		return
	}
	if c.attempt > 0 && (b.Outcome == event.OutcomeDone || b.Outcome == event.OutcomeInDoubt ||
		b.Outcome == event.OutcomeStraggler) && c.effect != event.EffectPure {
		done := effect{e.Step, b}
		r.effects = append(r.effects, done)
		if s.depth > 0 && b.Outcome != event.OutcomeDone {
			l := r.leave()
			l.doubts = append(l.doubts, done)
		}
	}
	r.countTool(c, e, b)
	if b.Result.IsError && b.Err != nil && b.Err.Kind == event.ErrLimit {
		s.refused = refusedScopes(b.Err)
	}
	c.state, c.ended = callEnded, e.Seq
	c.result = b.Result
	if len(b.Shown) > 0 {
		c.result = &event.ToolResult{Call: c.ID, Name: c.Name, IsError: b.Result.IsError, Content: b.Shown}
	}
	if len(b.Found) > 0 {
		s.find(v, b.Found)
	}
	if b.Outcome == event.OutcomeDone {
		c.sum = sumOf(c.ToolCall, b.Result)
	}
	if v.hide.has(e) {
		c.result = &event.ToolResult{Call: c.ID, Name: c.Name, Content: compactedResult}
	} else if repl, ok := v.hide.redacted[e.Seq]; ok {
		c.result = &event.ToolResult{Call: c.ID, Name: c.Name, Content: repl}
	} else if v.hide.cuts(e) {
		c.result = cutResult(c.result)
	}
	s.settled++
	s.endTurn = s.endTurn || b.EndTurn
	if b.ReturnDirect && !b.Result.IsError && (s.returns == nil || c.index < s.returns.index) {
		s.returns = c
		if s.answer = c.result; len(b.Shown) > 0 && !v.hide.has(e) && v.hide.redacted[e.Seq] == nil {
			s.answer = b.Result // off-loaded for the model, whole for people
		}
	}
	if s.settled == len(s.batch) {
		s.flush()
	}
}

// countTool counts the end of a tool call.
func (r *runView) countTool(c *call, e *event.Event, b *event.StepEnded) {
	if b.Result.IsError {
		r.metrics.ToolErrors++
	}
	if b.Outcome == event.OutcomeStraggler {
		r.metrics.Stragglers++
	}
	if c.attempt == 0 {
		return // it never began
	}
	m := r.metrics.tool(c.Name)
	if b.Result.IsError {
		m.Errors++
	}
	if c.child == nil {
		m.Time += b.Duration
	} else if took := e.Time.UnixNano() - c.begun; took > 0 {
		m.Time += time.Duration(took)
	}
}

func (r *runView) ask(s *scope, e *event.Event, b *event.Asked) {
	q := &question{Asked: *b, step: e.Step, scope: e.Scope}
	if e.Step == "" {
		s.ask(q)
		r.questions = append(r.questions, q)
		return
	}
	c := s.callByStep(e.Step)
	if c == nil || c.state == callEnded {
		return
	}
	more := c.rarely()
	more.asks = append(more.asks, q)
	c.state = callAsked
	r.questions = append(r.questions, q)
}

func (r *runView) answer(b *event.Answered) {
	for _, q := range r.questions {
		if q.Token != b.Token || q.answered {
			continue
		}
		q.answered, q.value, q.by = true, b.Value, b.By
		s := r.scope(q.scope)
		if s == nil {
			return
		}
		if c := s.callByStep(q.step); c != nil && c.state == callAsked &&
			!slices.ContainsFunc(c.rare().asks, func(q *question) bool { return !q.answered }) {
			c.state = callAnswered
		}
		return
	}
}

// openQuestions lists what the run waits for.
func (r *runView) openQuestions() []Question {
	var open []Question
	for _, q := range r.questions {
		if !q.answered && !r.scopeEnded(q) {
			open = append(open, Question{Asked: q.Asked, Step: q.step, Scope: q.scope})
		}
	}
	return open
}

// scopeEnded reports whether the call that asked was closed without an answer.
func (r *runView) scopeEnded(q *question) bool {
	s := r.scope(q.scope)
	if s == nil || s.closed != nil {
		return true
	}
	if q.step == "" {
		return s.before == nil || !slices.Contains(s.before.asks, q)
	}
	c := s.callByStep(q.step)
	return c == nil || c.state == callEnded
}
