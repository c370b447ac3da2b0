package braid

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Span is a stretch of what a run did, with what happened inside it: the run, a cycle, a call
// of a model or a tool, or an agent that is used as a tool. A tree of them is a [Trace]'s.
// It holds nothing of what was said.
type Span struct {
	Kind SpanKind `json:"kind"`
	// Name is the agent, the model as users write it, or the tool as the model called it;
	// empty for a cycle.
	Name string `json:"name,omitempty"`
	// Step, Scope, Cycle and Attempt say where it stands, as [event.Header] does.
	Step    string `json:"step,omitempty"`
	Scope   string `json:"scope,omitempty"`
	Cycle   int    `json:"cycle,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Began and Duration are by the clock of the log; for a run they include the time that it
	// waited. Open says that it has not ended, and what Duration is then.
	Began    time.Time     `json:"began"`
	Duration time.Duration `json:"duration_ns"`
	Open     bool          `json:"open,omitempty"`
	// Why is why the loop went on to a cycle or a model call, and why an agent ended; Stop how a
	// model's answer or an agent ended.
	Why  event.Why        `json:"why,omitempty"`
	Stop event.StopReason `json:"stop,omitempty"`
	// Outcome is how a step ended that gave no message, Error the kind of what went wrong.
	Outcome event.Outcome   `json:"outcome,omitempty"`
	Error   event.ErrorKind `json:"error,omitempty"`
	// Usage, CostNanoUSD and TimeToFirstByte are a model call's; those of the run are the sums.
	Usage           event.Usage   `json:"usage,omitzero"`
	CostNanoUSD     *int64        `json:"cost_nano_usd,omitempty"`
	Estimated       bool          `json:"estimated,omitempty"`
	TimeToFirstByte time.Duration `json:"time_to_first_byte_ns,omitempty"`
	Children        []*Span       `json:"children,omitempty"`
}

// SpanKind says what a [Span] is of.
type SpanKind string

// The kinds of spans.
const (
	SpanRun   SpanKind = "run"
	SpanCycle SpanKind = "cycle"
	SpanModel SpanKind = "model"
	SpanTool  SpanKind = "tool"
	SpanAgent SpanKind = "agent"
	// SpanCompaction is a model call that sums up what has become too long.
	SpanCompaction SpanKind = "compaction"
)

// Trace makes the tree of a run from its events, whether they come from a stream or from the
// log. Its zero value is ready. It is used by one goroutine at a time.
type Trace struct {
	run     string
	root    *Span
	outline fold.Outline[spanScope, *Span]
}

// spanScope is where the next span of a scope goes.
type spanScope struct {
	span  *Span
	cycle *Span
}

// Trace gives the tree of what the run did, from its conversation's log. It costs nothing until
// it is asked for.
func (r *Result) Trace(ctx context.Context) (*Span, error) {
	var t Trace
	if r.Conversation == nil {
		return nil, nil //nolint:nilnil // nothing was done
	}
	for e, err := range r.Conversation.Events(ctx, 0) {
		if err != nil {
			return nil, err
		}
		if e.Run == r.Run {
			t.Add(e)
		}
	}
	return t.Root(), nil
}

// Root is the run's span; nil where no event has come. The tree grows with the next event.
func (t *Trace) Root() *Span { return t.root }

// Add takes in an event, in the order of the log. Live events say nothing; the event of another
// run begins another tree.
func (t *Trace) Add(e *event.Event) {
	if e.Live() {
		return
	}
	at := t.outline.Add(e)
	if t.root == nil || t.run != e.Run {
		t.run = e.Run
		t.root = &Span{Kind: SpanRun, Began: e.Time, Open: true}
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
		child := &Span{Kind: SpanAgent, Name: b.Agent, Scope: b.ID, Began: e.Time, Open: true}
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
		Kind: SpanTool, Name: b.Tool, Step: e.Step, Scope: e.Scope, Cycle: e.Cycle, Attempt: e.Attempt, Began: e.Time, Open: true,
	}
	above := s.cycle
	switch b.Step {
	case event.StepCompaction:
		one.Kind, one.Name, one.Why, above = SpanCompaction, b.Model, b.Why, nil
	case event.StepModel:
		one.Kind, one.Name, one.Why = SpanModel, fold.ModelOf(b), b.Why
		if s.cycle == nil || s.cycle.Cycle != e.Cycle {
			s.cycle = &Span{Kind: SpanCycle, Scope: e.Scope, Cycle: e.Cycle, Began: e.Time, Why: b.Why}
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
	if s.cycle != nil && one.Kind != SpanCompaction {
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
