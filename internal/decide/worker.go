package decide

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// work decides for a scope that runs one tool: call it, and finish with its result.
func (f Flow) work(s *fold.Scope) Command {
	done := s.Batch.Done
	switch {
	case done == nil && s.Answer.Hooked && s.Fresh == "":
		return finish(event.WhyEndTurn, s.Answer.Stop, nil) // a hook has answered
	case done == nil:
		return Command{Do: Call, Why: event.WhyFlow, Call: f.Tool}
	case !done.Result.IsError:
		output := done.Result.Content
		if len(output) == 0 && len(done.Result.Structured) > 0 {
			output = []event.Block{&event.Text{Text: string(done.Result.Structured)}}
		}
		return Command{Do: Finish, Why: event.WhyFlow, Stop: event.StopEndTurn, Output: output}
	}
	err := done.Err
	if err == nil {
		err = &event.Error{Op: "tool " + f.Tool, Kind: event.ErrInternal, Message: event.TextOf(done.Result.Content)}
	}
	if done.Outcome == event.OutcomeInDoubt {
		err = &event.Error{
			Op: "flow", Kind: event.ErrInternal,
			Message: "in doubt: the program stopped while " + f.Tool + " ran; it may or may not have taken effect",
			Hint:    "find out, and begin another run; tool.Pure or tool.Idempotent lets it run again",
		}
	}
	cmd := Command{Do: Finish, Why: event.WhyFailed, Stop: event.StopError, Err: err}
	if err.Kind == event.ErrLimit {
		cmd.Why = event.WhyLimit
	}
	return cmd
}
