package hook

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// BeforeRun is called before a run begins, under its lease and before the run has an event in the log, and again for the
// input with which [AfterRun] continues the run. If the driver dies
// before that event is written, the next driver calls the hook again. An error fails the run.
type BeforeRun struct {
	// Run is the run's id: read only.
	Run string
	// Input is the run's input. It is writable, and its value is written to the log. It passes the check of the input of
	// Agent.Run: a history that models would refuse is repaired, and a call in a user's message fails the run.
	Input []event.Message
	// Cancel is writable: its text becomes the agent's answer to the input, and no model is called.
	Cancel string
}

// AfterRun is called when a run is about to end, whatever the reason, before the end is written. It is not called when the
// run waits. A driver that takes the run over calls it again if the end is not in the log. When the run is stopped, the
// context lasts for the grace period. An error fails the run.
type AfterRun struct {
	// Run is the run's id: read only.
	Run string
	// Status is how the run ends: read only.
	Status event.RunStatus
	// Stop is why the run ends: read only.
	Stop event.StopReason
	// Why is the same in the loop's words: read only.
	Why event.Why
	// Err is the error of a run that failed: read only.
	Err error
	// Message is the root agent's last complete message: read only.
	Message event.Message
	// Usage sums all model calls of the run: read only.
	Usage event.Usage
	// Rounds counts how often hooks have continued the run: read only.
	Rounds int
	// GoOn is writable: the run does not end, but continues with this as new input. The log has it under the agent's name. It
	// passes [BeforeRun] and the guardrails for input, as any input. It has no effect on a run that failed, was
	// cancelled or reached a limit, nor for the 17th time.
	GoOn []event.Block
}

// AfterAgent is called when an agent has given its answer in a run, before its end is written: the root agent, an agent that is
// used as a tool, or one of a flow, also the flow itself. It is not called for an agent that failed, was cancelled or reached a
// limit, nor for a call by the program itself. For the root agent it comes before [AfterRun]; a run that AfterRun continues
// calls it again. A driver that takes the run over calls it again if the end is not in the log.
//
// In its context [tool.State] reads and writes. What the hooks write is committed with the end. An error fails the run, and
// nothing of it is written.
type AfterAgent struct {
	// Agent is the agent's name: read only.
	Agent string
	// Scope is the agent's scope; "" for the root agent's: read only.
	Scope string
	// Answer is what the agent said last; empty if it ended with results of tools: read only.
	Answer []event.Block
	// Output is the structured output as JSON; nil for none: read only.
	Output json.RawMessage
}

// MessageAdded is called when a message was written to the log, before the run goes on: a message of the user or of the
// agent, or one tool result. It is not called for results that are written with the run's end. Nothing is writable. An error
// fails the run.
type MessageAdded struct {
	// Scope is the message's scope; "" for the root agent's.
	Scope string
	// Message is the message.
	Message event.Message
}

// QuestionAsked is called when a question of a tool or a hook was written to the log, before the run is parked. Nothing is
// writable. An error fails the run.
type QuestionAsked struct {
	// Question is what is asked, and of which call.
	Question event.Question
}
