package braid

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// sameTrace compares the trees of a log, event by event, with those of the fold that traces had before they shared one.
func sameTrace(log []*event.Event) error {
	var got Trace
	var want oldTrace
	for i, e := range log {
		got.Add(e)
		want.Add(e)
		if i%8 == 0 || i == len(log)-1 {
			if a, b := string(mustJSON(got.Root())), string(mustJSON(want.Root())); a != b {
				return fmt.Errorf("after event %d the trace is\n%s\nand was\n%s", i+1, a, b)
			}
		}
	}
	return nil
}

func TestFrozenJournalsHaveTheSameTraces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no frozen journal", err)
	}
	for _, file := range files {
		for name, log := range frozenLogs(t, file) {
			for from := range min(len(log), 4) { // also from the middle of a run
				if err := sameTrace(log[from*len(log)/4:]); err != nil {
					t.Errorf("%s, conversation %s: %v", file, name, err)
				}
			}
		}
	}
}

// oldTrace makes the tree of a run from its events, whether they come from a stream or from the
// log. Its zero value is ready. It is used by one goroutine at a time.
type oldTrace struct {
	run    string
	root   *Span
	scopes map[string]*oldSpanScope
}

// oldSpanScope is where the next span of a scope goes.
type oldSpanScope struct {
	span  *Span
	cycle *Span
	steps map[string]*Span
}

// Root is the run's span; nil where no event has come. The tree grows with the next event.
func (t *oldTrace) Root() *Span { return t.root }

// Add takes in an event, in the order of the log. Live events say nothing; the event of another
// run begins another tree.
func (t *oldTrace) Add(e *event.Event) {
	if e.Live() {
		return
	}
	if t.root == nil || t.run != e.Run {
		t.run = e.Run
		t.root = &Span{Kind: SpanRun, Began: e.Time, Open: true}
		t.scopes = map[string]*oldSpanScope{"": {span: t.root}}
	}
	t.root.Duration = max(e.Time.Sub(t.root.Began), 0)
	s := t.scopes[e.Scope]
	if s == nil {
		return // the event that opened it is not there
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		t.root.Name = b.Agent
	case *event.StepBegun:
		s.begin(e, b)
	case *event.AssistantMessage:
		if one := s.steps[e.Step]; one != nil && !b.Piece {
			one.Stop, one.Usage, one.CostNanoUSD, one.TimeToFirstByte = b.Stop, b.Usage, b.CostNanoUSD, b.TimeToFirstByte
			s.end(one, e, b.Latency)
		}
	case *event.StepEnded:
		if one := s.steps[e.Step]; one != nil {
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
		above := t.scopes[b.Parent]
		if above == nil {
			return
		}
		parent := above.span
		if one := above.steps[e.Step]; one != nil {
			parent = one
		}
		child := &Span{Kind: SpanAgent, Name: b.Agent, Scope: b.ID, Began: e.Time, Open: true}
		parent.Children = append(parent.Children, child)
		t.scopes[b.ID] = &oldSpanScope{span: child}
	case *event.ScopeClosed:
		if one := t.scopes[b.ID]; one != nil {
			one.close(e, b.Why, b.Stop, b.Err)
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
func (s *oldSpanScope) begin(e *event.Event, b *event.StepBegun) {
	one := &Span{
		Kind: SpanTool, Name: b.Tool, Step: e.Step, Scope: e.Scope, Cycle: e.Cycle, Attempt: e.Attempt, Began: e.Time, Open: true,
	}
	above := s.cycle
	switch b.Step {
	case event.StepCompaction:
		one.Kind, one.Name, one.Why, above = SpanCompaction, b.Model, b.Why, nil
	case event.StepModel:
		one.Kind, one.Name, one.Why = SpanModel, b.Model, b.Why
		if b.Runs != "" {
			one.Name = b.Runs
		}
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
	if s.steps == nil {
		s.steps = make(map[string]*Span)
	}
	s.steps[e.Step] = one
}

// end ends a step's span. A cycle is as long as what is in it.
func (s *oldSpanScope) end(one *Span, e *event.Event, took time.Duration) {
	if took == 0 {
		took = max(e.Time.Sub(one.Began), 0)
	}
	one.Duration, one.Open = took, false
	if s.cycle != nil && one.Kind != SpanCompaction {
		s.cycle.Duration = max(e.Time.Sub(s.cycle.Began), 0)
	}
}

// close ends an agent's span.
func (s *oldSpanScope) close(e *event.Event, why event.Why, stop event.StopReason, err *event.Error) {
	s.span.Why, s.span.Stop, s.span.Open = why, stop, false
	s.span.Duration = max(e.Time.Sub(s.span.Began), 0)
	if err != nil {
		s.span.Error = event.KindOf(err)
	}
}
