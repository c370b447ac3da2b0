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

// Do is what a [Command] wants done.
type Do uint8

// The commands.
const (
	// Wait means that nothing can move before a step ends, an answer comes or Until is past.
	Wait Do = iota
	// Finish ends the scope's work.
	Finish
	// Tools runs Calls, all at once.
	Tools
	// Model calls the model.
	Model
	// Agents opens a child scope for each of Calls.
	Agents
	// Compact shows the model less of the conversation, before it is called.
	Compact
	// Say says something to the model in the loop's own name.
	Say
	// Open opens a child scope for each of Open, without a tool call.
	Open
)

// Command is what was decided for one scope.
type Command struct {
	Do Do
	// Why is the reason, from a closed list. It is written with what follows.
	Why event.Why
	// Stop goes with Finish.
	Stop event.StopReason
	// Err goes with Finish: the error that the result has beside it.
	Err *event.Error
	// Until goes with Wait; zero means without end.
	Until time.Time
	// Calls goes with Tools and Agents.
	Calls []*fold.Call
	// Say goes with the command of that name.
	Say string
	// Open goes with the command of that name.
	Open []kind.Opening
	// Output goes with Finish: the answer of a scope without a model. nil means that the newest message is the answer.
	Output []event.Block
}

// Kind is a kind of agent: it decides for the scopes of its agents.
type Kind interface {
	// Next decides what a scope does next. It must be pure. The run is neither cancelled nor past its deadline, and no hook
	// waits for an answer.
	Next(s *fold.Scope, p *Policy, now time.Time) Command
}

// Next decides what a scope of an agent of that kind does next. For all kinds the first of these comes first:
//
//  1. The run is cancelled, or past its deadline: finish.
//  2. A hook before what comes next has asked: wait for the answer.
//  3. What the kind says.
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
