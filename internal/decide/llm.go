package decide

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/output"
)

// LLM is the kind of agent that calls a model and runs the tools that the model requests.
type LLM struct{}

// Next implements [Kind]. These rules apply in order:
//
//  1. If tool calls can run, run them. So a resumed run continues with its tools without a model call. The complete
//     calls of an answer that was cut at its token limit do not run.
//  2. If calls are open, wait for running steps or for an answer.
//  3. If a tool ends the turn, or the program itself called it, finish.
//  4. If the model ended its turn or failed for good, finish. If its output does not have the requested form,
//     request it again.
//  5. If a limit is reached, or the model repeats calls that bring nothing new, finish. The requested tools are
//     done by then.
//  6. If the transcript takes too much of the model's context, shorten it.
//  7. Otherwise, call the model.
//
// Before 4, the model gets the results of background agents that have ended. A scope with such an agent at work waits
// instead of finishing; see [held].
func (LLM) Next(s *fold.Scope, p *Policy, now time.Time) Command {
	cmd := nextLLM(s, p, now)
	if cmd.Do == Finish && held(s, cmd.Why) {
		return Command{Do: Wait, Why: event.WhyTask}
	}
	if cmd.Do == Finish && cmd.Err == nil {
		if _, returns := s.Returns(); returns {
			return Command{Do: HandBack, Why: event.WhyTransfer}
		}
	}
	return cmd
}

func nextLLM(s *fold.Scope, p *Policy, now time.Time) Command {
	if s.Batch.Calls != nil {
		if s.Answer.Stop == event.StopMaxTokens && s.Untouched() {
			return endOfTurn(s, p)
		}
		return nextCalls(s, p, now)
	}
	if s.Fresh == event.WhyToolResults {
		switch {
		case s.Batch.Returned != nil:
			return finish(event.WhyReturned, event.StopEndTurn, nil)
		case s.Batch.EndTurn:
			return finish(event.WhyToolStop, event.StopToolUse, nil)
		case s.Batch.Direct:
			return finish(event.WhyDirectCall, event.StopEndTurn, nil)
		}
	}
	if cmd, ok := nextCompaction(s, p, now); ok {
		return cmd
	}
	if cmd, ok := nextAttempt(s, p, now); ok {
		return cmd
	}
	if words := news(s.Background.Ended()); words != "" {
		return Command{Do: Say, Why: event.WhyTask, Say: words}
	}
	if s.Fresh == "" {
		return endOfTurn(s, p)
	}
	if p.Output.Refused(s) {
		return outputAgain(s, p, "")
	}
	cmd := CallModel(s, p, s.Fresh)
	if s.Fresh == event.WhyToolResults && cmd.Do == Model {
		cmd = stuck(s, p, cmd)
	}
	return cmd
}

// nextAttempt decides for a model call that began and has no answer. It reports false if there is none.
func nextAttempt(s *fold.Scope, p *Policy, now time.Time) (Command, bool) {
	switch m := &s.Model; m.State {
	case fold.ModelBegun:
		if p.runs(m.Step) {
			return wait(), true
		}
		return CallModel(s, p, event.WhyTakenOver), true
	case fold.ModelLost:
		return CallModel(s, p, event.WhyTakenOver), true
	case fold.ModelFailed:
		switch {
		case m.Fallback != "":
			return CallModel(s, p, event.WhyFallback), true
		case m.RetryAt.IsZero() && s.Overflowed():
			return nextEasing(s, p), true
		case m.RetryAt.IsZero():
			return finish(event.WhyFailed, event.StopError, m.Err), true
		case now.Before(m.RetryAt):
			return Command{Do: Wait, Why: event.WhyRetry, Until: m.RetryAt}, true
		}
		return CallModel(s, p, event.WhyRetry), true
	case fold.ModelIdle:
	}
	return Command{}, false
}

// nextCalls decides for an open batch: it returns the calls that can run now, or how long to wait.
func nextCalls(s *fold.Scope, p *Policy, now time.Time) Command {
	if s.Batch.Settled == 0 && !p.Sequential && len(p.Agents) == 0 && s.Untouched() {
		return Command{Do: Tools, Calls: s.Batch.Calls}
	}
	var tools, agents []*fold.Call
	until, own := wait(), p.Running
	for _, c := range s.Batch.Calls {
		switch c.State {
		case fold.CallEnded:
			continue
		case fold.CallAsked:
		case fold.CallBegun:
			switch {
			case c.Child != nil:
			case len(own) > 0 && own[0] == c.Step: // steps mostly run in the order of the calls
				own = own[1:]
			case p.runs(c.Step):
			case p.agent(c.Name):
				agents = append(agents, c)
			default:
				tools = append(tools, c)
			}
		case fold.CallNew, fold.CallAnswered:
			if again := c.Extra().RetryAt; now.Before(again) {
				if until.Until.IsZero() || again.Before(until.Until) {
					until.Why, until.Until = event.WhyRetry, again
				}
				break
			}
			if p.agent(c.Name) {
				agents = append(agents, c)
			} else {
				tools = append(tools, c)
			}
		}
		if p.Sequential {
			// One after another: nothing behind an open call may begin.
			break
		}
	}
	switch {
	case len(agents) > 0:
		return Command{Do: Agents, Calls: agents}
	case len(tools) > 0:
		return Command{Do: Tools, Calls: tools}
	}
	return until
}

// CallModel calls the model unless a limit is reached or the transcript must be shortened first.
func CallModel(s *fold.Scope, p *Policy, why event.Why) Command {
	if cmd, over := limited(s, p, why); over {
		return cmd
	}
	if !Again(why) && !p.stays(s) && p.Compaction.due(s) {
		return Command{Do: Compact, Why: event.WhyLimit}
	}
	return Command{Do: Model, Why: why}
}

// Again reports whether a model call is another attempt of one that has begun.
func Again(why event.Why) bool {
	return why == event.WhyRetry || why == event.WhyFallback || why == event.WhyTakenOver || why == event.WhyCompacted
}

// endOfTurn decides after a model's answer without calls.
func endOfTurn(s *fold.Scope, p *Policy) Command {
	switch s.Answer.Stop {
	case event.StopMaxTokens:
		return finish(event.WhyMaxTokens, event.StopMaxTokens, &event.Error{
			Kind: event.ErrMaxTokens, Message: "the model's answer was cut at its token limit",
			Hint: "raise Options.MaxTokens, or ask for less at once",
		})
	case "":
		return finish(event.WhyNothing, event.StopEndTurn, nil)
	case event.StopEndTurn, event.StopSequence, event.StopToolUse:
		if p.Output != nil && !s.Answer.Hooked {
			_, problem := p.Output.Given(s, p.Stop)
			switch {
			case output.Stopped(problem):
				return wait() // the run is about to be cancelled
			case output.Uncheckable(problem):
				return finish(event.WhyFailed, event.StopError, output.Missing(problem))
			case problem != nil:
				return outputAgain(s, p, output.Mend(problem, p.ByTool))
			}
		}
		return finish(event.WhyEndTurn, s.Answer.Stop, nil)
	default:
		// A refusal, a guardrail, a filter, or a word that only the provider knows.
		return finish(event.WhyModelStop, s.Answer.Stop, nil)
	}
}

// outputAgain requests structured output again. words tells the model what was wrong; it is empty if a tool result
// already does.
func outputAgain(s *fold.Scope, p *Policy, words string) Command {
	if l := p.Limits.Outputs; l > 0 && s.Answer.Asked >= l {
		_, problem := p.Output.Given(s, p.Stop)
		err := output.Missing(problem)
		err.Hint = "the conversation stays usable; make the schema easier to keep to, or raise Limits.OutputRetries"
		return finish(event.WhyLimit, event.StopLimitAnswers, err)
	}
	cmd := CallModel(s, p, event.WhyAnswer)
	if cmd.Do != Finish && words != "" {
		return Command{Do: Say, Why: event.WhyAnswer, Say: words}
	}
	return cmd
}
