package braid

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
)

// GuardPlace is a place where a guardrail looks.
type GuardPlace string

// The places of a [Guard].
const (
	// GuardInput is what an agent receives: the input of the run, messages that arrive while it is open,
	// [hook.AfterRun].GoOn, and the input of an agent that is used as a tool.
	GuardInput GuardPlace = GuardPlace(guardrail.Input)
	// GuardOutput is what an agent says: text, thinking, arguments of tool calls, summaries, a result that becomes the
	// answer ([tool.ReturnDirect]), and the text with which a hook answers instead of the model. It also covers the
	// message of a failed model call, because a provider may repeat the request in it.
	GuardOutput GuardPlace = GuardPlace(guardrail.Output)
	// GuardResult is what tools return: results, errors, progress, questions, the text with which a hook cancels a call,
	// and the answer of an agent that is used as a tool.
	GuardResult GuardPlace = GuardPlace(guardrail.Result)
)

// Guard adds a guardrail: check gets each text that passes one of the places (all places if none is named) and returns
// the text that may pass. It returns the text unchanged if nothing is wrong. In JSON (arguments, structured results)
// each string is checked on its own, and so are the addresses of files.
//
// Removed text never reaches the log, a stream, a model or a later hook. The exception is [hook.BeforeRun], which sees
// the input first. Text that a hook changes is checked again. What [hook.BeforeModel] puts into a request, answers to
// questions, and state are not checked. An [event.Redacted] with Clean set records where something was removed, except
// in summaries; the store then erases its copy of the run's input too. If a guardrail looks at output, live pieces are
// not shown: the whole answer arrives at once.
//
// If check returns an error or panics, nothing passes: the run fails, the model call fails, or the tool's result is an
// error. The root agent's guardrails apply to all agents of its runs. Each guardrail gets what the one before it
// returned. check is called from several goroutines at once and must stop when its context is cancelled. After a crash
// it is called again for what was not yet written.
func Guard(name string, check func(ctx context.Context, text string) (string, error), places ...GuardPlace) Part {
	return partFunc(func(a *Agent) error {
		bad := func(message, hint string) error {
			return &event.Error{Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
		switch {
		case name == "":
			return bad("a guardrail has no name", "give it one: it stands in the log")
		case check == nil:
			return bad("the guardrail "+name+" checks nothing", "pass a function")
		}
		var looks []guardrail.Place
		for _, p := range places {
			if p != GuardInput && p != GuardOutput && p != GuardResult {
				return bad("a guardrail cannot look at "+strconv.Quote(string(p)), "use GuardInput, GuardOutput or GuardResult")
			}
			looks = append(looks, guardrail.Place(p))
		}
		safe := func(ctx context.Context, text string) (passed string, err error) {
			err = foreign.Shield("guardrail "+name, "the guardrail", func() (err error) { passed, err = check(ctx, text); return err })
			return passed, err
		}
		a.set.Guards = append(a.set.Guards, drive.Guard{Rule: guardrail.Rule{Name: name, Check: safe}, Places: looks})
		return nil
	})
}

// GuardsOf adds the present guardrails of another agent. Use it for an agent that works on the other one's words, such
// as one that summarises them. A nil agent has none.
func GuardsOf(of *Agent) Part {
	return partFunc(func(a *Agent) error {
		if of != nil {
			a.set.Guards = append(a.set.Guards, of.set.Guards...)
		}
		return nil
	})
}
