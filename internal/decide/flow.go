package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/fold"
)

// Flow is the kind of agent without a model: a [kind.Kind] decides over its child scopes.
type Flow struct {
	Kind kind.Kind
	// Agents are the names of the agents that it may open.
	Agents []string
}

// Next implements [Kind]. These rules apply in order:
//
//  1. If the program itself called tools or passed them in, run them or finish after them.
//  2. If a hook before the run has answered, finish.
//  3. If a limit is reached, wait for the open children, which it also ends, and finish.
//  4. Otherwise the kind decides. It finishes once no child is open.
func (f Flow) Next(s *fold.Scope, p *Policy, now time.Time) Command {
	switch {
	case s.Batch.Calls != nil:
		return nextCalls(s, p, now)
	case s.Batch.Direct && s.Fresh == event.WhyToolResults:
		return finish(event.WhyDirectCall, event.StopEndTurn, nil)
	}
	if s.Answer.Hooked && s.Fresh == "" {
		return finish(event.WhyEndTurn, s.Answer.Stop, nil) // a hook has answered
	}
	view, open := f.view(s, now)
	cmd, err := f.ask(view)
	switch {
	case err != nil:
	case cmd.Finish && open:
		return wait()
	case cmd.Finish:
		return f.end(&cmd)
	case len(cmd.Open) > 0:
		if stop, over := limited(s, p, event.WhyInput); over {
			if open {
				return wait()
			}
			return stop
		}
		if err = f.check(cmd.Open); err == nil {
			return Command{Do: Open, Why: event.WhyFlow, Open: cmd.Open}
		}
	case now.Before(cmd.Until):
		return Command{Do: Wait, Why: event.WhyWaiting, Until: cmd.Until}
	case open:
		return wait()
	default:
		err = f.fault("it waits, and nothing is left to wait for", "open an agent, or finish")
	}
	if open {
		return wait()
	}
	return finish(event.WhyFailed, event.StopError, err)
}

// view returns what the kind sees of a scope. open reports whether a child is open.
func (f Flow) view(s *fold.Scope, now time.Time) (view kind.Scope, open bool) {
	view = kind.Scope{Agents: slices.Clone(f.Agents), Input: s.Input(), Now: now}
	for _, c := range s.Children {
		one := kind.Child{Node: c.Node, Agent: c.Agent, Open: c.Closed == nil}
		if end := c.Closed; end != nil {
			one.Output, one.Stop, one.Err = shown(end.Output), end.Stop, end.Err
		}
		open = open || one.Open
		view.Children = append(view.Children, one)
	}
	return view, open
}

// shown returns the blocks of an answer that another agent can receive. It drops thinking and blocks that only the
// model's provider reads.
func shown(answer []event.Block) (kept []event.Block) {
	for _, b := range answer {
		switch b := b.(type) {
		case *event.Text:
			kept = append(kept, &event.Text{Text: b.Text}) // its signature is for the provider
		case *event.Image, *event.Document, *event.Media:
			kept = append(kept, b)
		}
	}
	return kept
}

// ask calls the kind, which is user code, and turns a panic into an error.
func (f Flow) ask(view kind.Scope) (cmd kind.Command, err *event.Error) {
	defer func() {
		if v := recover(); v != nil {
			err = &event.Error{Op: "flow", Kind: event.ErrInternal, Message: fmt.Sprintf("the kind of the agent panicked: %v", v)}
		}
	}()
	return f.Kind.Next(view), nil
}

// check returns an error if the kind opens an agent that it was not given.
func (f Flow) check(list []kind.Opening) *event.Error {
	for i := range list {
		if !slices.Contains(f.Agents, list[i].Agent) {
			return f.fault(fmt.Sprintf("it opens the agent %q, which it was not given", list[i].Agent), "give the agent to braid.NewFlow")
		}
	}
	return nil
}

func (f Flow) fault(what, hint string) *event.Error {
	return &event.Error{
		Op: "flow", Kind: event.ErrInvalid, Message: fmt.Sprintf("the kind of the agent, %T, cannot go on: %s", f.Kind, what), Hint: hint,
	}
}

// end returns how the scope ends when the kind finishes.
func (f Flow) end(cmd *kind.Command) Command {
	done := Command{Do: Finish, Why: event.WhyFlow, Stop: cmd.Stop, Err: cmd.Err, Output: cmd.Output}
	switch {
	case cmd.Err == nil:
		if done.Stop == "" {
			done.Stop = event.StopEndTurn
		}
	case cmd.Err.Kind == event.ErrLimit:
		done.Why = event.WhyLimit // the conversation stays usable
	default:
		done.Why = event.WhyFailed
	}
	if done.Stop == "" {
		done.Stop = event.StopError
	}
	return done
}
