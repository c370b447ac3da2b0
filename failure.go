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

// Fallback adds models to ask if a call fails with one of the kinds. The list begins with the agent's own model. A
// call that fails with one of the kinds is not repeated on the same model: the next one is asked at once. That holds
// also for kinds that are never retried, such as a conversation that does not fit, or a refused key. For other kinds
// [Retries] applies, and its attempts count for each model. After the last model, a failure is handled as without
// Fallback.
//
// The agent stays with the model that answered until the run ends (for an agent used as a tool, until that call ends),
// because this provider has the conversation in its cache, and the first model would probably refuse again. The next
// run begins with the first model. A driver that takes the run over continues with the model that the log names; if
// the agent does not have it any more, with the first.
//
// A kind is matched with errors.Is. So if a model wraps an error with a plainer one, the kind of [event.Error].Err
// counts too.
//
// An attempt on another model is no new cycle, and what the failed model said is dropped. The log records the change
// as [event.StepEnded].Fallback and, at the next attempt, [event.WhyFallback]. If one model of the list is simulated,
// the whole run counts as simulated.
//
// A second Fallback replaces the first. The models need different names.
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

// ForgetFailed hides the messages of the agent's failed runs from later runs, which see only a note of what their
// tools did. Without it they see the complete messages and results, and a note that the run failed. [Agent.Resume] can
// continue a failed run in both cases. The end of each run records the choice.
func ForgetFailed() Part {
	return partFunc(func(a *Agent) error {
		a.set.Forgets = true
		return nil
	})
}

// Retry is [tool.Retry]: how often a failed call is repeated, and after which waits. For a model that is a call that
// was throttled, overloaded or cut off. A wait is at least as long as the provider asks for.
type Retry = tool.Retry

var defaultRetry = Retry{Attempts: 6, Base: 4 * time.Second, Max: 240 * time.Second}

// Retries sets the agent's retry policy for model calls.
func Retries(r Retry) Part {
	return partFunc(func(a *Agent) error {
		a.set.Retry = Retry{
			Attempts: cmp.Or(r.Attempts, defaultRetry.Attempts), Base: cmp.Or(r.Base, defaultRetry.Base),
			Max: cmp.Or(r.Max, defaultRetry.Max), Exact: r.Exact,
		}
		return nil
	})
}
