package fold

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Call is a tool call of a scope's open batch.
type Call struct {
	*event.ToolCall
	Index   int
	Step    string
	State   CallState
	Attempt int
	// begun is when the last attempt began, in Unix nanoseconds.
	begun  int64
	Effect event.Effect
	// extra holds what few calls have. It is separate because every call pays for its own memory.
	extra *Extra
	// Result is the result that the model sees; nil until the call has ended.
	Result *event.ToolResult
	// ended is the Seq of the event that has the result.
	ended int64
	// sum identifies the call together with its result. It is 0 unless the call was done, or a hook cancelled it.
	sum uint64
	// Child is the scope that does the call's work; nil if there is none.
	Child *Scope
}

// Extra holds what a call has only if it was repeated, was changed by a hook, or asked a question.
type Extra struct {
	// Retries counts the attempts that ended with a retry by the tool's policy.
	Retries int
	// RetryAt is when the next attempt may begin; zero once it has begun.
	RetryAt time.Time
	// Failed reports whether the last of those attempts returned an error.
	Failed bool
	// Args are the arguments that a hook set instead of the call's own; nil for none.
	Args json.RawMessage
	// Runs is the tool that a hook set instead of the call's own; empty for none.
	Runs string
	// Questions are the questions of this call, in the order in which they were asked.
	Questions []*Ask
}

// noExtra is the extra of most calls. It must not be written to.
var noExtra Extra

// Extra returns what few calls have. The caller must not change it.
func (c *Call) Extra() *Extra {
	if c.extra == nil {
		return &noExtra
	}
	return c.extra
}

// changeExtra returns the call's own Extra for writing.
func (c *Call) changeExtra() *Extra {
	if c.extra == nil {
		c.extra = &Extra{}
	}
	return c.extra
}

// CallState is the progress of a tool call.
type CallState uint8

// The states of a tool call. An answered call may run again: its questions have answers, or it must be retried.
const (
	CallNew CallState = iota
	CallBegun
	CallAsked
	CallAnswered
	CallEnded
)
