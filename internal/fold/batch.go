package fold

import "github.com/braidrun/braid/event"

// Batch holds the tool calls of one answer. It is open until each call has a result.
type Batch struct {
	// Asking is the answer whose calls are not all settled.
	Asking []event.Block
	// askedAt is the Seq of that answer's event.
	askedAt int64
	// Calls are the calls of that answer in its order; nil while no batch is open.
	Calls []*Call
	// Settled counts the calls that have a result.
	Settled int
	// last are the calls of the newest settled batch, until the model answers.
	last []*Call
	// Returned is the first call whose result becomes the answer; nil for none.
	Returned *Call
	// Answer is the result of Returned.
	Answer *event.ToolResult
	// EndTurn reports whether one of the tools ends the loop.
	EndTurn bool
	// Direct reports whether the program itself requested the calls.
	Direct bool
	// Done is the end of the newest call that no model requested, since the newest message of a user; nil for none.
	Done *event.StepEnded
}
