package braid

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/schemacheck"
)

// do is what next wants done.
type do uint8

// The commands.
const (
	// doWait: nothing can move before a step ends, an answer comes or Until is past.
	doWait do = iota
	// doFinish: the scope's work is over.
	doFinish
	// doTools: run Calls, all at once.
	doTools
	// doModel: call the model.
	doModel
	// doScopes: open a child scope for each of Calls.
	doScopes
	// doCompact: show the model less of the conversation, before it is called.
	doCompact
	// doSay: say something to the model in the loop's own name.
	doSay
)

// command is what the loop decided for one scope.
type command struct {
	Do do
	// Why is the reason, from a closed list. It is written with what follows.
	Why event.Why
	// Stop goes with doFinish.
	Stop event.StopReason
	// Err goes with doFinish: the kind of error that stands beside the result.
	Err *event.Error
	// Until goes with doWait; zero means without end.
	Until time.Time

	calls []*fold.Call
	// say goes with doSay.
	say string
}

// inputs is what next sees besides the scope: everything that is not in the log.
type inputs struct {
	// Agent is who works in the scope now.
	Agent *Agent
	// Now is the driver's clock.
	Now time.Time
	// Cancelled and Expired say that somebody, or the deadline, wants the run to end.
	Cancelled bool
	Expired   bool

	// offer is what the scope's tools are looked for in; nil is what Agent offers.
	offer *offer
	// agents finds those above the scope's, earlier is what the conversation's earlier runs
	// have used: both for limits alone, and nil where there are none.
	agents  interface{ agentOf(name string) *Agent }
	earlier *event.Spent
	// answer is what the scope's answer is held to; nil for nothing.
	answer *answer
	// stop closes when the run is to end: checking an answer then ends, too.
	stop <-chan struct{}
	// running are the steps that this driver runs now. A step that has begun
	// in the log and is not among them was in flight when another driver died.
	running []string
	// whole says that the driver was told to leave something out before the next model call, and that nothing can be, or
	// that a hook forbids it.
	whole bool
}

func (in *inputs) runs(step string) bool { return slices.Contains(in.running, step) }

// next decides what a scope does next. It is pure: it writes nothing, and the same scope and inputs
// give the same command to every driver, before and after a crash. The order is this:
//
//  1. cancelled, or past the deadline: finish.
//  2. A hook before what comes next has asked: wait for the answer.
//  3. Tool calls that can run: run them, so that a resumed run goes straight
//     to its tools without a model call.
//  4. Open calls that cannot: wait for what runs or for an answer.
//  5. A tool asked to stop, or the program itself had called it: finish.
//  6. The model ended its turn, or failed for good: finish; or, where its answer has not
//     the form that was asked for, ask for that.
//  7. A limit is reached, or the model makes the same call again and again and
//     learns nothing: finish. The tools that were asked for are done by then.
//  8. The conversation takes too much of the model's context: show less of it.
//  9. Otherwise: call the model.
func next(s *fold.Scope, in inputs) command {
	if in.Cancelled {
		return finish(event.WhyCancelled, event.StopCancelled, &event.Error{
			Kind: event.ErrCancelled, Message: "the run was cancelled", Err: context.Canceled,
		})
	}
	if in.Expired {
		return finish(event.WhyDeadline, event.StopTimeout, &event.Error{
			Kind: event.ErrTimeout, Message: "the run's time was over before it was done",
			Hint: "give it more time, or ask for less at once", Err: context.DeadlineExceeded,
		})
	}

	if s.Before.Waits() {
		return command{Do: doWait, Why: event.WhyWaiting}
	}
	if s.Batch != nil {
		return nextCalls(s, in)
	}

	if s.Fresh == event.WhyToolResults {
		switch {
		case s.Returned != nil:
			return finish(event.WhyReturned, event.StopEndTurn, nil)
		case s.EndTurn:
			return finish(event.WhyToolStop, event.StopToolUse, nil)
		case s.Direct:
			return finish(event.WhyDirectCall, event.StopEndTurn, nil)
		}
	}

	if cmd, ok := nextCompaction(s, in); ok {
		return cmd
	}

	switch s.Model.State {
	case fold.ModelBegun:
		if in.runs(s.Model.Step) {
			return command{Do: doWait, Why: event.WhyWaiting}
		}
		return nextModel(s, in, event.WhyTakenOver)
	case fold.ModelLost:
		return nextModel(s, in, event.WhyTakenOver)
	case fold.ModelFailed:
		if s.Model.Fallback != "" {
			return nextModel(s, in, event.WhyFallback)
		}
		if s.Model.RetryAt.IsZero() && s.Overflowed() {
			return nextEasing(s, in)
		}
		if s.Model.RetryAt.IsZero() {
			return finish(event.WhyFailed, event.StopError, s.Model.Err)
		}
		if in.Now.Before(s.Model.RetryAt) {
			return command{Do: doWait, Why: event.WhyRetry, Until: s.Model.RetryAt}
		}
		return nextModel(s, in, event.WhyRetry)
	case fold.ModelIdle:
	}

	if s.Fresh == "" {
		return endOfTurn(s, in)
	}
	if in.answer.refused(s) {
		return answerAgain(s, in, "")
	}
	cmd := nextModel(s, in, s.Fresh)
	if s.Fresh == event.WhyToolResults && cmd.Do == doModel {
		cmd = in.looping(s, cmd)
	}
	return cmd
}

// nextCalls decides for an open batch: the calls that can run now, or until when to wait.
func nextCalls(s *fold.Scope, in inputs) command {
	if in.offer == nil {
		in.offer = in.Agent.current()
	}
	if s.Settled == 0 && !in.Agent.sequential && len(in.offer.children) == 0 && s.Untouched() {
		return command{Do: doTools, calls: s.Batch}
	}
	var tools, scopes []*fold.Call
	wait := command{Do: doWait, Why: event.WhyWaiting}
	for _, c := range s.Batch {
		switch c.State {
		case fold.CallEnded:
			continue
		case fold.CallAsked:
		case fold.CallBegun:
			switch {
			case c.Child != nil || in.runs(c.Step):
			case in.offer.child(c.Name) != nil:
				scopes = append(scopes, c)
			default:
				tools = append(tools, c)
			}
		case fold.CallNew, fold.CallAnswered:
			if again := c.Extra().RetryAt; in.Now.Before(again) {
				if wait.Until.IsZero() || again.Before(wait.Until) {
					wait.Why, wait.Until = event.WhyRetry, again
				}
				break
			}
			if in.offer.child(c.Name) != nil {
				scopes = append(scopes, c)
			} else {
				tools = append(tools, c)
			}
		}
		if in.Agent.sequential {
			// One after another: nothing behind an open call may begin.
			break
		}
	}
	switch {
	case len(scopes) > 0:
		return command{Do: doScopes, calls: scopes}
	case len(tools) > 0:
		return command{Do: doTools, calls: tools}
	}
	return wait
}

// nextModel calls the model unless a limit is reached.
func nextModel(s *fold.Scope, in inputs, why event.Why) command {
	if cmd, over := in.limited(s, why); over {
		return cmd
	}
	if m := in.Agent.manage; m != nil && !again(why) && !in.stays(s) && m.due(s, in.Agent) {
		return command{Do: doCompact, Why: event.WhyLimit}
	}
	return command{Do: doModel, Why: why}
}

// again reports whether a model call is another attempt of one that has begun.
func again(why event.Why) bool {
	return why == event.WhyRetry || why == event.WhyFallback || why == event.WhyTakenOver || why == event.WhyCompacted
}

// endOfTurn is a model's answer without calls.
func endOfTurn(s *fold.Scope, in inputs) command {
	switch s.Stop {
	case event.StopMaxTokens:
		return finish(event.WhyMaxTokens, event.StopMaxTokens, &event.Error{
			Kind: event.ErrMaxTokens, Message: "the model's answer was cut at its token limit",
			Hint: "raise ModelOptions.MaxTokens, or ask for less at once",
		})
	case "":
		return finish(event.WhyNothing, event.StopEndTurn, nil)
	case event.StopEndTurn, event.StopSequence, event.StopToolUse:
		if in.answer != nil && !s.Hooked {
			_, problem := in.answer.given(s, in.stop)
			switch {
			case errors.Is(problem, schemacheck.ErrStopped):
				return command{Do: doWait, Why: event.WhyWaiting} // the run is about to be cancelled
			case uncheckable(problem):
				return finish(event.WhyFailed, event.StopError, wanting(problem))
			case problem != nil:
				return answerAgain(s, in, in.answer.mend(in.Agent.named(s.LastModel), problem))
			}
		}
		return finish(event.WhyEndTurn, s.Stop, nil)
	default:
		// A refusal, a guardrail, a filter, or a word that only the provider knows.
		return finish(event.WhyModelStop, s.Stop, nil)
	}
}

// answerAgain asks for an answer in its form: after words, where the model does not know from
// a result what was wrong.
func answerAgain(s *fold.Scope, in inputs, words string) command {
	if l := in.Agent.limits.Answers; l > 0 && s.AnswersAsked >= l {
		_, problem := in.answer.given(s, in.stop)
		err := wanting(problem)
		err.Hint = "the conversation stays usable; make the schema easier to keep to, or raise Limits.Answers"
		return finish(event.WhyLimit, event.StopLimitAnswers, err)
	}
	cmd := nextModel(s, in, event.WhyAnswer)
	if cmd.Do != doFinish && words != "" {
		return command{Do: doSay, Why: event.WhyAnswer, say: words}
	}
	return cmd
}

func finish(why event.Why, stop event.StopReason, err *event.Error) command {
	return command{Do: doFinish, Why: why, Stop: stop, Err: err}
}

func limit(stop event.StopReason, message, field string) command {
	return finish(event.WhyLimit, stop, &event.Error{
		Kind: event.ErrLimit, Message: message,
		Hint: "the conversation stays usable; raise " + field + " or continue it",
	})
}

// iterate is the loop: ask next of every open scope until none can move, write
// down in one commit what ended and what begins, do what has begun, take in what
// has ended, and again. Nothing recurses: an agent used as a tool is one more scope.
func (d *driver) iterate() error {
	for {
		d.pending.awaited = false
		d.readInbox()
		if d.draining() {
			d.drain()
		} else {
			d.decide()
		}
		if err := d.commit(); err != nil {
			return err
		}
		if d.phase.over() {
			return nil
		}
		if d.view.Stale {
			if err := d.refold(); err != nil {
				return err
			}
		}
		d.perform()
	}
}

// decide asks every open scope, children before their parents, until the
// answers change nothing any more: a child that finishes lets its parent go on
// in the same commit.
func (d *driver) decide() {
	d.exec.wakeAt = time.Time{}
	if d.ctx.Err() != nil {
		d.phase = phaseStopping
		d.settleAfterStop()
	}
	for moved := true; moved && d.view.Run.Ended == nil && !d.outdated(); {
		moved = false
		scopes := d.view.Run.Scopes
		for i := len(scopes) - 1; i >= 0 && d.view.Run.Ended == nil && !d.outdated(); i-- {
			if s := scopes[i]; s.Closed == nil {
				in := d.inputs(s)
				cmd := next(s, in)
				if d.fault != nil {
					cmd = finish(event.WhyFailed, event.StopError, d.fault)
				}
				if s.Depth == 0 && len(d.inbox.messages) > 0 {
					cmd = d.admitPending(s, in, cmd)
				}
				moved = d.apply(s, in.Agent, cmd) || moved
			}
		}
	}
}

// apply turns a command into the events that begin it, and remembers what has to
// be done once they are committed. It reports whether the scope moved.
func (d *driver) apply(s *fold.Scope, agent *Agent, cmd command) bool {
	if d.programOf(s) != nil {
		return d.driveProgram(s, agent, cmd)
	}
	if d.cfg.hooked {
		// Hooks before a step must see a committed log: commit what has ended first, then call them.
		if d.mustHold(s, agent, &cmd) {
			d.pending.awaited = true
			return false
		}
		if cmd.Do == doFinish || cmd.Do == doModel {
			before := d.fault
			ends := d.tellBatch(s, agent)
			if d.fault != before || d.ctx.Err() != nil && d.phase != phaseStopping {
				d.pending.awaited = true // it has become another decision
				return false
			}
			if ends && cmd.Do == doModel {
				cmd = finish(event.WhyToolStop, event.StopToolUse, nil)
			}
		}
	}
	switch cmd.Do {
	case doFinish:
		d.finish(s, cmd)
	case doTools, doScopes:
		return d.beginCalls(s, agent, cmd.calls)
	case doModel:
		return d.beginModel(s, agent, cmd.Why)
	case doCompact:
		return d.compact(s, agent, cmd.Why)
	case doSay:
		d.say(s, cmd)
	case doWait:
		d.waitUntil(cmd.Until)
		return false
	}
	return true
}
