package braid

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
)

// GuardPlace is where a guardrail looks.
type GuardPlace string

// The places of a [Guard].
const (
	// GuardInput is what an agent is given: the input of the run, messages that arrive while it is open,
	// [hook.AfterRun].GoOn, and what an agent that is used as a tool is called with.
	GuardInput GuardPlace = GuardPlace(guardrail.Input)
	// GuardOutput is what an agent says: text, thinking, the arguments of tool calls, summaries, a result
	// that becomes the answer ([tool.ReturnDirect]), the words with which a hook answers instead of the model,
	// and the message of a failure, because a provider may repeat the request in it.
	GuardOutput GuardPlace = GuardPlace(guardrail.Output)
	// GuardResult is what tools give: results, errors, progress, questions, the words with which a hook
	// cancels a call, and the answer of an agent that is used as a tool.
	GuardResult GuardPlace = GuardPlace(guardrail.Result)
)

// Guard adds a guardrail: check is given each text that passes at these places, at all of them where
// none is named, and gives what may stand in its place, which is the text itself where nothing is wrong
// with it. Texts in JSON (arguments, structured results) are checked one by one, and so are the addresses of files.
//
// What was taken out never reaches the log, a stream, a model or a hook behind it, except [hook.BeforeRun],
// which sees the input first. What a hook changes passes the guardrails again; what [hook.BeforeModel] puts into
// a request, answers to questions and state pass none. An
// [event.Redacted] that is Clean records under name where it was, but for summaries, and what the store keeps of a
// run's own input is erased with it. The live pieces of answers are not shown where a guardrail looks at output: the whole answer comes at once.
//
// An error of check, or a panic, lets nothing pass: the run fails, the model's call fails,
// or the tool's result is an error. The root agent's guardrails hold for all that work in its
// runs; each is asked what the one before it has left. check is called from several goroutines
// at once and stops when its context is cancelled. It is asked again for what a driver that
// died had not written.
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

// GuardsOf adds the guardrails of another agent, those that it has now: for an agent that works on what that one has said,
// such as one that sums it up. A nil agent has none.
func GuardsOf(of *Agent) Part {
	return partFunc(func(a *Agent) error {
		if of != nil {
			a.set.Guards = append(a.set.Guards, of.set.Guards...)
		}
		return nil
	})
}
