package hook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// BeforeDrive is called when a driver takes a run: a new run, one that waited, or one whose driver died. A run that asks a
// person has one drive before the answer and another one after it, perhaps in another process. The driver waits for the
// hook, so the hook must be quick. An error fails the run.
type BeforeDrive struct {
	// Agent is the agent's name: read only.
	Agent string
	// Model is the name of the agent's model: read only.
	Model string
	// Conversation is the conversation's id: read only.
	Conversation string
	// Run is the run's id: read only.
	Run string
	// Resumed reports whether the run had begun before: read only.
	Resumed bool
	// Trace is the run's place in a distributed trace, as a W3C traceparent: the label [TraceLabel], or what an earlier
	// drive wrote; empty for none. It is writable until the run begins. Its value is written to the log for later drives.
	Trace string
	// Context is the context of the drive, its models and its tools. It is writable. Derive the new one from it, so that the
	// run can still be cancelled.
	Context context.Context //nolint:containedctx // the hook may replace it
}

// TraceLabel is the label of a run that carries a W3C traceparent to its driver. A context does not reach a run that is
// queued or goes on in another process.
const TraceLabel = "braid.traceparent"

// AfterDrive is called when a driver lets go of a run whose BeforeDrive was called: the run ended, waits or was handed back,
// or it could not be driven. Everything is written by then. The context keeps the values of the drive's context and is never
// cancelled. An error has no effect.
type AfterDrive struct {
	// Result is the state of the run after the drive: read only.
	Result Outcome
	// Err is why the run could not be driven: read only. It is nil for a run that failed; Result says how a run ended.
	Err error
}

// Outcome is the state of a run after a drive, as far as the run got.
type Outcome struct {
	// Conversation is the conversation's id.
	Conversation string
	// Run is the run's id.
	Run string
	// Status reports whether the run ended, waits, or is still running because it was handed back.
	Status event.RunStatus
	// WakeAt is when a waiting run goes on by itself; zero for never.
	WakeAt time.Time
	// Stop is why the run ended.
	Stop event.StopReason
	// Why is the same in the loop's words.
	Why event.Why
	// Message is the root agent's last complete message.
	Message event.Message
	// Repaired says how the history that was handed in was changed so that models accept it, one entry for each repair.
	Repaired []string
	// Partial is what the root agent had written of the next message when it was interrupted.
	Partial []event.Block
	// Output is the structured output as JSON; nil for none.
	Output json.RawMessage
	// Usage sums all model calls of the run.
	Usage event.Usage
	// CostNanoUSD is the cost of the run in 1e-9 US dollars; nil if a part of it is unknown.
	CostNanoUSD *int64
	// Estimated reports whether Usage and CostNanoUSD include an estimate.
	Estimated bool
	// Metrics counts what the run did.
	Metrics event.Metrics
	// State is the run's own state.
	State map[string]json.RawMessage
	// Questions are the open questions of a waiting run.
	Questions []event.Question
	// Simulated reports whether the model followed a script.
	Simulated bool
}
