package decide

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/fold"
)

// Flow is the kind of agent without a model: a [kind.Kind] decides over its child scopes.
type Flow struct {
	Kind kind.Kind
	// Agents are the names of the agents that it may open.
	Agents []string
	// Tool is the tool that a [kind.Worker] runs; empty for every other kind.
	Tool string
}

// Next implements [Kind]. These rules apply in order:
//
//  1. If the program itself called tools or passed them in, run them or finish after them.
//  2. If a hook before the run has answered, finish.
//  3. If a limit is reached, wait for the open children, which it also ends, and finish.
//  4. Otherwise the kind decides. It finishes once no child is open.
//
// A [kind.Worker] calls its tool instead of 3 and 4, and finishes with the result.
func (f Flow) Next(s *fold.Scope, p *Policy, now time.Time) Command {
	switch {
	case s.Batch.Calls != nil:
		return nextCalls(s, p, now)
	case f.Tool != "":
		return f.work(s)
	case s.Batch.Direct && s.Fresh == event.WhyToolResults:
		return finish(event.WhyDirectCall, event.StopEndTurn, nil)
	}
	if s.Answer.Hooked && s.Fresh == "" {
		return finish(event.WhyEndTurn, s.Answer.Stop, nil) // a hook has answered
	}
	open := s.OwnFlow().Open > 0
	cmd, err := f.ask(f.view(s, now))
	if err == nil {
		err = f.check(s, &cmd)
	}
	switch {
	case err != nil:
	case cmd.Decide != "":
		return Command{Do: Decide, Why: event.WhyFlow, Decide: cmd.Decide}
	case len(cmd.Close) > 0:
		return Command{Do: Close, Why: event.WhyFlow, Close: cmd.Close}
	case cmd.Finish && open:
		return wait()
	case cmd.Finish:
		return f.end(s, &cmd)
	case len(cmd.Open) > 0:
		if stop, over := limited(s, p, event.WhyInput); over {
			if open {
				return wait()
			}
			return stop
		}
		return Command{Do: Open, Why: event.WhyFlow, Open: cmd.Open}
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

// view returns what the kind sees of a scope. It shares the fold's lists.
func (f Flow) view(s *fold.Scope, now time.Time) kind.Scope {
	own := s.OwnFlow()
	return kind.Scope{
		Agents: f.Agents, Input: s.Input(), Began: s.Place.Began, Now: now,
		Children: slices.Clip(own.Seen), Open: own.Open, Failed: own.Failed, Ended: slices.Clip(own.Ends),
		Decisions: slices.Clip(own.Decisions), Memo: memoOf(s),
	}
}

// memoOf returns the memory of a kind for a scope.
func memoOf(s *fold.Scope) *any {
	if s.Flow == nil {
		return new(any) // the scope has opened nothing and decided nothing
	}
	return &s.Flow.Memo
}

// View returns a copy of what the kind of an agent sees of its scope.
func (f Flow) View(s *fold.Scope, now time.Time) kind.Scope { return copied(f.view(s, now)) }

// DecisionView returns a copy of what the decision of a name reads of a scope. It calls user code, and panics if that does.
func (f Flow) DecisionView(name string, s *fold.Scope, now time.Time) kind.Scope {
	view := f.view(s, now)
	if n, ok := f.Kind.(kind.Narrower); ok {
		view = n.Narrow(name, view)
	}
	return copied(view)
}

// copied returns a view that shares no list which the fold changes.
func copied(view kind.Scope) kind.Scope {
	view.Agents, view.Children = slices.Clone(view.Agents), slices.Clone(view.Children)
	view.Ended, view.Memo = slices.Clone(view.Ended), new(any)
	return view
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

// check returns what is wrong with a command; nil for nothing.
func (f Flow) check(s *fold.Scope, cmd *kind.Command) *event.Error {
	if cmd.Decide != "" {
		if _, ok := f.Kind.(kind.Decider); !ok {
			return f.fault("it wants a decision, and has no method Decide", "implement flow.Decider")
		}
		if len(cmd.Decide) > longestName || !utf8.ValidString(cmd.Decide) {
			return f.fault("the name of its decision is too long, or is no UTF-8", "give it a short name")
		}
		if len(s.OwnFlow().Decisions) >= mostDecisions {
			return f.fault("it has made "+strconv.Itoa(mostDecisions)+" decisions and wants another", "let it finish")
		}
	}
	for i := range cmd.Close {
		if n := cmd.Close[i].Child; n < 0 || n >= len(s.OwnFlow().Seen) || !s.OwnFlow().Seen[n].Open {
			return f.fault(fmt.Sprintf("it closes child %d, which is not open", n), "close open children only")
		}
	}
	for i := range cmd.Open {
		if !slices.Contains(f.Agents, cmd.Open[i].Agent) {
			return f.fault(fmt.Sprintf("it opens the agent %q, which it was not given", cmd.Open[i].Agent), "give the agent to braid.NewFlow")
		}
	}
	return nil
}

// mostDecisions bounds the decisions of a scope for one input: a kind that decides for ever must end.
const mostDecisions = 100_000

// longestName bounds the name of a decision, in bytes.
const longestName = 1000

func (f Flow) fault(what, hint string) *event.Error {
	return &event.Error{
		Op: "flow", Kind: event.ErrInvalid, Message: fmt.Sprintf("the kind of the agent, %T, cannot go on: %s", f.Kind, what), Hint: hint,
	}
}

// end returns how the scope ends when the kind finishes.
func (f Flow) end(s *fold.Scope, cmd *kind.Command) Command {
	done := Command{Do: Finish, Why: event.WhyFlow, Stop: cmd.Stop, Err: cmd.Err, Output: fold.Plain(cmd.Output), Notices: cmd.Notices}
	done.Escalate = cmd.Escalate && !s.OwnFlow().Escalated
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
