package hook

import "github.com/braidrun/braid/event"

// BeforeTools is called before the tool calls of one answer begin. It is not called again for calls that asked or are
// repeated. The hooks can ask a person, all in one round: none of the calls begins before there are answers, and then the
// hooks are called again from the first one. An error is the result of every call.
type BeforeTools struct {
	// Calls are the calls of the answer, in request order: read only.
	Calls []*event.ToolCall
	// Cancel is writable: its text becomes the error result of every call as it is, and none runs. Each ends with
	// [event.OutcomeCancelled].
	Cancel string
}

// AfterTools is called when all tool calls of one answer have ended, before the model is shown their results. It is also
// called if the run ends there. A driver that takes the run over calls it again if nothing has followed in the log. An error
// fails the run.
type AfterTools struct {
	// Results are the results in request order: read only.
	Results []*event.ToolResult
	// EndTurn is writable: the loop ends here, and the model is not called again.
	EndTurn bool
}
