// Package trace makes a tree of what a run did, and how long each part took, from the events of the run.
package trace

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Span is a part of a run and what happened inside it: the run itself, a cycle, a call of a model or a tool, or an agent that
// is used as a tool. It has none of the texts of the run.
type Span struct {
	// Kind is what the span is of.
	Kind Kind `json:"kind"`
	// Name is the agent, the model as users write it, or the tool as the model called it; empty for a cycle.
	Name string `json:"name,omitempty"`
	// Step, Scope, Cycle and Attempt are those of [event.Header].
	Step    string `json:"step,omitempty"`
	Scope   string `json:"scope,omitempty"`
	Cycle   int    `json:"cycle,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Began is when the span began, by the clock of the log.
	Began time.Time `json:"began"`
	// Duration is how long it took. For a run it includes the time that the run waited. For an open span it is the time so
	// far.
	Duration time.Duration `json:"duration_ns"`
	// Open reports whether the span has not ended.
	Open bool `json:"open,omitempty"`
	// Why is why the loop began a cycle or a model call, or why an agent ended.
	Why event.Why `json:"why,omitempty"`
	// Stop is how a model's answer or an agent ended.
	Stop event.StopReason `json:"stop,omitempty"`
	// Outcome is how a step without a message ended.
	Outcome event.Outcome `json:"outcome,omitempty"`
	// Error is the kind of the error.
	Error event.ErrorKind `json:"error,omitempty"`
	// Usage is what a model call used. For the run it is the sum.
	Usage event.Usage `json:"usage,omitzero"`
	// CostNanoUSD is what a model call or the run cost; nil if it is unknown.
	CostNanoUSD *int64 `json:"cost_nano_usd,omitempty"`
	// Estimated reports whether the usage is an estimate.
	Estimated bool `json:"estimated,omitempty"`
	// TimeToFirstByte is that of a model call.
	TimeToFirstByte time.Duration `json:"time_to_first_byte_ns,omitempty"`
	// Children are the spans inside, in the order in which they began.
	Children []*Span `json:"children,omitempty"`
}

// Kind is what a [Span] is of.
type Kind string

// The kinds of spans.
const (
	Run   Kind = "run"
	Cycle Kind = "cycle"
	Model Kind = "model"
	Tool  Kind = "tool"
	Agent Kind = "agent"
	// Compaction is a model call for a summary of a conversation that became too long.
	Compaction Kind = "compaction"
)

// Tree builds the tree of a run from its events, whether they come from a stream or from the log. Its zero value is ready. It
// is not safe for concurrent use.
type Tree struct {
	run     string
	root    *Span
	outline fold.Outline[spanScope, *Span]
}

// spanScope is where the next span of a scope goes.
type spanScope struct {
	span  *Span
	cycle *Span
}

// Root returns the run's span; nil before the first event. The next event changes the tree.
func (t *Tree) Root() *Span { return t.root }

// Add adds an event. Events come in the order of the log. Live events change nothing, and an event of another run begins
// another tree.
func (t *Tree) Add(e *event.Event) {
	if e.Live() {
		return
	}
	at := t.outline.Add(e)
	if t.root == nil || t.run != e.Run {
		t.run = e.Run
		t.root = &Span{Kind: Run, Began: e.Time, Open: true}
		t.outline.Thread("").Own = spanScope{span: t.root}
	}
	t.root.Duration = max(e.Time.Sub(t.root.Began), 0)
	if at.Thread == nil || at.Thread.Own.span == nil && at.Opened == nil {
		return // the event that opened it is not there
	}
	s := &at.Thread.Own
	switch b := e.Body.(type) {
	case *event.RunStarted:
		t.root.Name = b.Agent
	case *event.StepBegun:
		at.Step.Own = s.begin(e, b)
	case *event.AssistantMessage:
		if at.Step != nil && !b.Piece {
			one := at.Step.Own
			one.Stop, one.Usage, one.CostNanoUSD, one.TimeToFirstByte = b.Stop, b.Usage, b.CostNanoUSD, b.TimeToFirstByte
			s.end(one, e, b.Latency)
		}
	case *event.StepEnded:
		if at.Step != nil {
			one := at.Step.Own
			one.Outcome, one.Usage, one.CostNanoUSD, one.Estimated = b.Outcome, b.Usage, b.CostNanoUSD, b.Estimated
			switch {
			case b.Err != nil:
				one.Error = event.KindOf(b.Err)
			case b.Result != nil && b.Result.IsError:
				one.Error = "tool_error"
			}
			s.end(one, e, b.Duration)
		}
	case *event.ScopeOpened:
		if at.Opened == nil || at.Opened.Parent.Own.span == nil {
			return
		}
		parent := at.Opened.Parent.Own.span
		if at.Step != nil {
			parent = at.Step.Own
		}
		child := &Span{Kind: Agent, Name: b.Agent, Scope: b.ID, Began: e.Time, Open: true}
		parent.Children = append(parent.Children, child)
		at.Opened.Own.span = child
	case *event.ScopeClosed:
		if at.Closed != nil && at.Closed.Own.span != nil {
			at.Closed.Own.close(e, b.Why, b.Stop, b.Err)
		}
	case *event.RunEnded:
		s.close(e, b.Why, b.Stop, b.Err)
		t.root.Usage, t.root.CostNanoUSD, t.root.Estimated = b.Usage, b.CostNanoUSD, b.Estimated
		if b.Duration > 0 {
			t.root.Duration = b.Duration
		}
	}
}

// begin adds the span of a step, and that of a cycle where a model call begins one.
func (s *spanScope) begin(e *event.Event, b *event.StepBegun) *Span {
	one := &Span{
		Kind: Tool, Name: b.Tool, Step: e.Step, Scope: e.Scope, Cycle: e.Cycle, Attempt: e.Attempt, Began: e.Time, Open: true,
	}
	above := s.cycle
	switch b.Step {
	case event.StepCompaction:
		one.Kind, one.Name, one.Why, above = Compaction, b.Model, b.Why, nil
	case event.StepModel:
		one.Kind, one.Name, one.Why = Model, fold.ModelOf(b), b.Why
		if s.cycle == nil || s.cycle.Cycle != e.Cycle {
			s.cycle = &Span{Kind: Cycle, Scope: e.Scope, Cycle: e.Cycle, Began: e.Time, Why: b.Why}
			s.span.Children = append(s.span.Children, s.cycle)
		}
		above = s.cycle
	}
	if above == nil {
		above = s.span // the cycle began before the first event that came
	}
	above.Children = append(above.Children, one)
	return one
}

// end ends a step's span. A cycle is as long as what is in it.
func (s *spanScope) end(one *Span, e *event.Event, took time.Duration) {
	if took == 0 {
		took = max(e.Time.Sub(one.Began), 0)
	}
	one.Duration, one.Open = took, false
	if s.cycle != nil && one.Kind != Compaction {
		s.cycle.Duration = max(e.Time.Sub(s.cycle.Began), 0)
	}
}

// close ends an agent's span.
func (s *spanScope) close(e *event.Event, why event.Why, stop event.StopReason, err *event.Error) {
	s.span.Why, s.span.Stop, s.span.Open = why, stop, false
	s.span.Duration = max(e.Time.Sub(s.span.Began), 0)
	if err != nil {
		s.span.Error = event.KindOf(err)
	}
}
