package fold

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// ModelCall is the state of a scope's current model call.
type ModelCall struct {
	State   ModelState
	Step    string
	Attempt int
	// Tries counts the attempts on the model called Name; Unreached counts the newest of them that reached no server.
	Tries     int
	Unreached int

	Name string
	// Err is why the newest attempt failed. RetryAt is when the next one may begin; zero means that there is none.
	Err     *event.Error
	RetryAt time.Time
	// Fallback is the model that is asked instead of one that failed.
	Fallback string
	// Eased says that the model is shown less than when it refused the conversation as too long. Easings counts how often
	// that was done for this call.
	Eased   bool
	Easings int
}

// ModelState says whether a model call is in flight.
type ModelState uint8

// The states of a model call. A call that is lost was in flight when its driver ended it or died; nothing is wrong with it.
const (
	ModelIdle ModelState = iota
	ModelBegun
	ModelFailed
	ModelLost
)

// Call is a tool call of a scope's open batch.
type Call struct {
	*event.ToolCall
	Index   int
	Step    string
	State   CallState
	Attempt int
	// begun is when the last attempt began, in nanoseconds as it is read back.
	begun  int64
	Effect event.Effect
	// extra is what few calls have: every call pays for its own memory.
	extra *Extra
	// Result is what the model is shown of the end; nil before it.
	Result *event.ToolResult
	// ended is the Seq of the event that has the result.
	ended int64
	// sum distinguishes the call with its result from others; 0 when a caller handed it in or it was closed without a
	// result.
	sum uint64
	// Child is the scope that does the call's work; nil for none.
	Child *Scope
}

// Extra is what a call has only if it was repeated, changed by a hook, or if it asked.
type Extra struct {
	// Retries counts the attempts that ended to be repeated. RetryAt is when the next one may begin; zero once it has.
	// Failed says that the last of them gave an error.
	Retries int
	RetryAt time.Time
	Failed  bool
	// Args and Runs are what hooks put in place of the call's own; nil and empty for none.
	Args json.RawMessage
	Runs string
	// Questions are the questions of this call in the order of asking.
	Questions []*Ask
}

// noExtra is the extra of most calls. Nobody writes to it.
var noExtra Extra

// Extra gives what few calls have. It is read only.
func (c *Call) Extra() *Extra {
	if c.extra == nil {
		return &noExtra
	}
	return c.extra
}

// changeExtra is [Call.Extra] to write.
func (c *Call) changeExtra() *Extra {
	if c.extra == nil {
		c.extra = &Extra{}
	}
	return c.extra
}

// CallState says how far a tool call has come.
type CallState uint8

// The states of a tool call. One that is answered may run again: it has all its answers, or it is to be repeated.
const (
	CallNew CallState = iota
	CallBegun
	CallAsked
	CallAnswered
	CallEnded
)
