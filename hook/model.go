package hook

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// BeforeModel is called before each attempt of a model call. The hooks can ask a person, all in one round: the run waits before the call, and
// with the answers the hooks are called again from the first one, at each attempt of that call. An error fails the call.
type BeforeModel struct {
	// Agent is the name of the agent that calls: read only.
	Agent string
	// Why is why the loop calls the model: read only.
	Why event.Why
	// Request is the request to the model. Its Instructions, Messages, Tools, ToolChoice, Output and Options are writable, for
	// this attempt alone: the log and the history do not change, and the log does not have what only the model is shown. The
	// blocks of the messages are shared and read only; replace them instead. Changed messages pass the check of the input of
	// Agent.Run, so that every call has its result.
	Request *model.Request
	// Model is the model that is called. It is writable, for this attempt alone. The log has the name of the model that was
	// called ([event.StepBegun].Runs).
	Model model.Model
	// Cancel is writable: its text becomes the agent's answer, and no model is called. It ends the agent's turn and costs
	// nothing.
	Cancel string
}

// AfterModel is called after each attempt of a model call, also after one that failed, and also if a hook answered instead
// of the model or failed. When the run is stopped, the context lasts for the grace period. The answer was streamed before;
// the message replaces it. An error fails the call.
type AfterModel struct {
	// Request is the request that was sent: read only.
	Request *model.Request
	// Model is the name of the model that was called: read only.
	Model string
	// Message is the answer; nil if the call failed. Its Content and Stop are writable. It can be replaced: by a message if
	// the call failed, or by nil to fail the call.
	Message *event.AssistantMessage
	// Err is why the call failed: read only.
	Err error
	// Duration is how long the call took: read only.
	Duration time.Duration
	// Retry is writable: the answer is dropped, and the call is repeated after Wait, at most 20 times in all. The usage of the
	// dropped call counts. It does not count as an attempt of the retry policy. Retry has no effect if no model was called or the run is stopped.
	Retry bool
	// Wait is writable: the time before a retry.
	Wait time.Duration
}
