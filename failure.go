package braid

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/tool"
)

// Fallback gives the agent more models, to be asked in this order where a call fails
// with one of the kinds. Such a call is not repeated on the model that failed: the next
// one of the list, which begins with the agent's own, is asked at once, also where the
// kind is none that is repeated (a conversation that does not fit goes to a model
// with a larger context, a refused key to another provider). Other kinds keep to
// [Retries], whose attempts count for each model. At the end of the list a failure is
// what it would be without one.
//
// The agent stays with the model that it has come to until its work is over, because
// that model's provider has the conversation in its cache now, and because what the
// first one refused it would likely refuse again: in the run, or where the agent is used
// as a tool in that call. The next run begins with the first model. Another driver
// that takes the run over goes on with the model that the log names; where the
// agent has none of that name any more, with its first.
//
// A kind counts where errors.Is finds it: an error of a model that says less than its cause, such as one with plain words for
// the users of a service, keeps the cause in [event.Error].Err, whose kind counts as well.
//
// An attempt on another model is no new cycle, and what the failed one had said is
// void. The step's events tell of it: [event.StepEnded].Fallback, and [event.WhyFallback]
// where the next attempt begins. Where a model of the list is simulated, the whole run
// counts as simulated, whoever answers.
//
// A second Fallback takes the place of the first. The models need names that differ.
func Fallback(kinds []event.ErrorKind, models ...Model) Part {
	return partFunc(func(a *Agent) error {
		bad := func(message, hint string) error {
			return &event.Error{Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: message, Hint: hint}
		}
		known := event.Kinds()
		for _, kind := range kinds {
			if !slices.ContainsFunc(known, func(k event.KindInfo) bool { return k.Kind == kind }) {
				return bad("there is no kind of error "+strconv.Quote(string(kind))+" to fall back on", "use those of package event")
			}
		}
		switch {
		case len(kinds) == 0:
			return bad("a list of models says for no failure when the next one is asked", "name kinds, such as event.ErrOverloaded")
		case len(models) == 0:
			return bad("there is no model to fall back on", "name one, or leave Fallback out")
		}
		var names []string
		if a.set.Model != nil {
			names = append(names, a.set.Model.Info().Name)
		}
		for _, m := range models {
			if foreign.IsNil(m) {
				return bad("a model to fall back on is nil", "pass what models.Open gives, after looking at its error")
			}
			name := m.Info().Name
			if slices.Contains(names, name) {
				return bad(fmt.Sprintf("two models of the list are called %q", name), "name each once")
			}
			names = append(names, name)
		}
		a.set.FallbackOn, a.set.Fallbacks = slices.Clone(kinds), slices.Clone(models)
		return nil
	})
}

// ForgetFailed makes conversations forget the messages of the agent's failed runs: later runs see only a note
// of what their tools did. Without it they see whole messages and results, and a note that the run failed.
// A failed run can be continued with [Agent.Resume] either way. Each run's end records which it was.
func ForgetFailed() Part {
	return partFunc(func(a *Agent) error {
		a.set.Forgets = true
		return nil
	})
}

// Retry is [tool.Retry]: how often a call that failed is repeated, and after which waits. For models, the call is one that
// was throttled, overloaded or cut off, and a wait is at least what the provider asked for.
type Retry = tool.Retry

var defaultRetry = Retry{Attempts: 6, Base: 4 * time.Second, Max: 240 * time.Second}

// Retries sets the agent's retry policy.
func Retries(r Retry) Part {
	return partFunc(func(a *Agent) error {
		a.set.Retry = Retry{
			Attempts: cmp.Or(r.Attempts, defaultRetry.Attempts), Base: cmp.Or(r.Base, defaultRetry.Base),
			Max: cmp.Or(r.Max, defaultRetry.Max), Exact: r.Exact,
		}
		return nil
	})
}
