package hook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// BeforeTool is called before each attempt of one tool call, also of an agent that is used as a tool, and also if the
// agent has no such tool. Its context is the call's, so that a hook can ask, read and write state and end the turn as
// the tool could. If a hook asks, those after it are called so that they can ask too, the call waits, and with the
// answers the hooks are called again from the first one. Each counts its own questions; two with one name are an error.
// To end the turn after an agent has worked, use [AfterTool]. An error is the call's result.
type BeforeTool struct {
	// Call is what the model asked for: read only.
	Call *tool.Call
	// Args are the arguments of the call. They are writable, and their value is written to the log ([event.StepBegun]). The
	// history that the model sees does not change.
	Args json.RawMessage
	// Tool is what is called; nil if the agent has no tool of that name. It is writable. The log has its name, and a driver
	// that takes the run over finds it by that name, so it should be one of the agent's tools. Otherwise the call is in doubt
	// then. An agent that is used as a tool can be replaced, but cannot replace a tool.
	Tool tool.Tool
	// Cancel is writable: its text becomes the call's error result as it is, and the tool does not run. The call ends with
	// [event.OutcomeCancelled].
	Cancel string
}

// AfterTool is called after a tool call has ended, whatever its result, also if a hook cancelled it or it could not begin.
// Changes pass the agent's guardrails. It is not called for an attempt that asked, nor for a call whose driver died or whose
// tool was left behind. The context is the call's. When the run is stopped, it lasts for the grace period. A hook cannot ask.
// An error is the call's result.
//
// A call counts as running until its hooks have returned: if the driver dies before that, an unsafe call is in doubt.
type AfterTool struct {
	// Call is what was called, with the arguments that were used: read only.
	Call *tool.Call
	// Result is what the model is shown. It is never nil, and writable.
	Result *event.ToolResult
	// Err is why the call failed; nil if it succeeded: read only.
	Err error
	// Cancelled reports whether a hook cancelled the call: read only.
	Cancelled bool
	// Duration is how long the tool ran: read only.
	Duration time.Duration
	// Retry is writable: the result is dropped, and the call is repeated from the hooks before it, at most 20 times in all.
	// It does not count as an attempt of the tool's retry policy. It has no effect on an agent that is used as a tool, on a
	// call that never ran, or if the run is stopped.
	Retry bool
}

// EventSent is called for every event of a run before the reader gets it: for a durable event when it is in the log, for a
// live event as it happens. Programs that print, count or trace a run use it. The driver waits for the hook. The event is
// the hook's until it returns. An error fails the run.
type EventSent struct {
	// Event is the event: read only.
	Event event.Event
	// Tool is the tool that the event begins, if it is the [event.StepBegun] of a tool call; nil for other events, and if the
	// agent has no tool of that name: read only.
	Tool tool.Tool
	// Context is the context of the step that the event begins. It is writable if the event is an [event.StepBegun]: its values,
	// such as a span, reach the model or the tool.
	Context context.Context //nolint:containedctx // the hook may replace it
}
