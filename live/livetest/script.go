package livetest

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Script makes the events of a run, numbered as a driver numbers them. Set its names before use.
type Script struct {
	Conversation string
	Run          string
	// Seq is the number of the last durable event, Epoch the driver's epoch, N the number of its
	// last live event.
	Seq   int64
	Epoch int64
	N     int64
}

// Durable returns the next durable event.
func (s *Script) Durable(step string, attempt int, body event.Body) event.Event {
	s.Seq++
	return event.Event{Header: event.Header{
		Seq: s.Seq, Conversation: s.Conversation, Run: s.Run, Step: step, Attempt: attempt, Author: "agent", Cycle: 1,
		Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}, Body: body}
}

// Live returns the next live event.
func (s *Script) Live(step string, attempt int, body event.Body) event.Event {
	s.N++
	return event.Event{Header: event.Header{
		Conversation: s.Conversation, Run: s.Run, Step: step, Attempt: attempt, Author: "agent", Cycle: 1,
		Epoch: s.Epoch, N: s.N,
	}, Body: body}
}

// TakeOver begins the epoch of the next driver.
func (s *Script) TakeOver() { s.Epoch, s.N = s.Epoch+1, 0 }

// Note returns a durable event without a step.
func (s *Script) Note(code string) event.Event { return s.Durable("", 0, &event.Notice{Code: code}) }

// Begin returns the beginning of a model step.
func (s *Script) Begin(step string, attempt int) event.Event {
	return s.Durable(step, attempt, &event.StepBegun{Step: event.StepModel, Why: event.WhyInput})
}

// BeginTool returns the beginning of a tool step.
func (s *Script) BeginTool(step string, attempt int, call, tool string) event.Event {
	return s.Durable(step, attempt, &event.StepBegun{Step: event.StepTool, Call: call, Tool: tool})
}

// Text returns a piece of the first block.
func (s *Script) Text(step string, attempt int, text string) event.Event {
	return s.Live(step, attempt, &event.TextDelta{Text: text})
}

// Progress returns a progress event of a tool.
func (s *Script) Progress(step string, attempt int, call, tool, text string) event.Event {
	return s.Live(step, attempt, &event.ToolProgress{Call: call, Tool: tool, Text: text})
}

// Answer returns the end of a model step with all of its text.
func (s *Script) Answer(step string, attempt int, text string) event.Event {
	return s.Durable(step, attempt, &event.AssistantMessage{
		Content: []event.Block{&event.Text{Text: text}}, Stop: event.StopEndTurn,
	})
}

// Fail returns the end of a step without an answer.
func (s *Script) Fail(step string, attempt int, kind event.StepKind, outcome event.Outcome) event.Event {
	return s.Durable(step, attempt, &event.StepEnded{Step: kind, Outcome: outcome})
}

// End returns the end of the run.
func (s *Script) End() event.Event {
	return s.Durable("", 0, &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn})
}
