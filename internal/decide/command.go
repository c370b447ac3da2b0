// Package decide decides what a scope of a run does next. A decision is pure: it sees a fold of the log, a policy that is plain
// data, and a time, and it writes nothing. One log gives one command, whichever driver asks, before and after a crash.
package decide

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/fold"
)

// Do is the action of a [Command].
type Do uint8

// The commands.
const (
	// Wait waits until a step ends, an answer comes or Until has passed.
	Wait Do = iota
	// Finish ends the scope's work.
	Finish
	// Tools runs Calls, all at once.
	Tools
	// Model calls the model.
	Model
	// Agents opens a child scope for each of Calls.
	Agents
	// Compact shortens the transcript before the model is called.
	Compact
	// Say adds a message of the loop itself for the model.
	Say
	// Open opens a child scope for each of Open, without a tool call.
	Open
	// Close ends the open child scopes of Close.
	Close
	// Decide lets Go code of the program make the decision of Decide.
	Decide
	// HandBack gives the scope back to the agent that handed it over once.
	HandBack
	// Call calls the tool of Call, which no model asked for.
	Call
)

// Command is the decision for one scope.
type Command struct {
	Do Do
	// Why is the reason, from a closed list. The log records it with the action.
	Why event.Why
	// Stop goes with Finish.
	Stop event.StopReason
	// Err goes with Finish: the error of the result; nil for none.
	Err *event.Error
	// Until goes with Wait; zero means that no time limits the wait.
	Until time.Time
	// Calls goes with Tools and Agents.
	Calls []*fold.Call
	// Say goes with the action of that name.
	Say string
	// Open goes with the action of that name, and so do the next three.
	Open []kind.Opening
	// Close are the children that end.
	Close []kind.Closing
	// Decide names the decision.
	Decide string
	// Call names the tool.
	Call string
	// Output goes with Finish: the answer of a scope without a model. nil means that the newest message is the answer.
	Output []event.Block
	// Escalate goes with Finish: it asks the loop around the scope to stop.
	Escalate bool
	// Notices go with Finish.
	Notices []event.Notice
}

// Kind is a kind of agent. It decides for the scopes of its agents.
type Kind interface {
	// Next returns what a scope does next. It must be pure. It is called only if the run is neither cancelled nor past its
	// deadline, and no hook waits for an answer.
	Next(s *fold.Scope, p *Policy, now time.Time) Command
}

// Next returns what a scope of an agent of that kind does next. These rules apply in order, for all kinds:
//
//  1. If the run is cancelled or past its deadline, finish.
//  2. If a hook before the next step has an open question, wait for the answer.
//  3. Otherwise the kind decides.
func Next(kind Kind, s *fold.Scope, p *Policy, now time.Time) Command {
	switch {
	case p.Cancelled:
		return finish(event.WhyCancelled, event.StopCancelled, &event.Error{
			Kind: event.ErrCancelled, Message: "the run was cancelled", Err: context.Canceled,
		})
	case p.Expired:
		return finish(event.WhyDeadline, event.StopTimeout, &event.Error{
			Kind: event.ErrTimeout, Message: "the run's time was over before it was done",
			Hint: "give it more time, or ask for less at once", Err: context.DeadlineExceeded,
		})
	case s.Before.Waits():
		return wait()
	}
	return kind.Next(s, p, now)
}

func wait() Command { return Command{Do: Wait, Why: event.WhyWaiting} }

func finish(why event.Why, stop event.StopReason, err *event.Error) Command {
	return Command{Do: Finish, Why: why, Stop: stop, Err: err}
}
