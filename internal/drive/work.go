package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
)

// programWork is what a program is given, once for all that it does until its answer.
type programWork struct {
	// why is the reason for which the scope goes on.
	why event.Why
	// Messages are what the log has of the scope.
	Messages []event.Message
	// Open are the calls that have no result in the log. The program makes them, or goes on with them.
	Open []*event.ToolCall
	// err is why the program stopped without an answer. The runner sets it before the last report.
	err error
}

// ProgramReport is one thing that a program did: exactly one of its fields is set.
type ProgramReport struct {
	// Model names the model that the program begins to call.
	Model string
	// Message is the answer of that model. It ends the call.
	Message *event.AssistantMessage
	// Call is the id of a tool call that the program begins, and effect what repeating it would do.
	Call   string
	Effect event.Effect
	// Result is what the tool gave. It ends the call.
	Result *event.ToolResult
}

// summing is a model call for a summary.
type summing struct {
	compact.Omission
	// summary is what came of it.
	summary []event.Block
	// err is why there is no summary.
	err error
	// failWith is the error of a hook.
	broke error
}
