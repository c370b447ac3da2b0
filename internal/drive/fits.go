package drive

import (
	"errors"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/foreign"
)

// keepsWaiting is what to do about a run that does not fit the agent.
const keepsWaiting = "resume it with the agent that it was begun with; it keeps waiting"

// fits returns why the agent cannot go on with a run that has begun: it has changed, and lacks what the run needs. Nothing is
// written then, so the run keeps waiting for an agent that fits.
func (d *activeRun) fits() error {
	for _, s := range d.view.Run.OpenScopes() {
		agent := d.cfg.agentOf(s.Agent)
		if agent == nil {
			if s.Task != nil && s.Task.Model != "" {
				continue // reopen says what is wrong
			}
			return &event.Error{
				Op: "run", Kind: event.ErrNotFound, Message: "agent " + strconv.Quote(s.Agent) + " works in the run, and this agent does not have it",
				Hint: keepsWaiting,
			}
		}
		own, _ := agent.Flow.(decide.Flow)
		m, ok := own.Kind.(kind.Matcher)
		if !ok {
			continue
		}
		view := own.View(s, d.now)
		err := foreign.Shield("agent "+s.Agent, "the kind of the agent", func() error { return m.Matches(view) })
		if err != nil {
			e := event.Error{Op: "run", Kind: event.ErrNotFound, Message: err.Error(), Err: err}
			if own, ok := errors.AsType[*event.Error](err); ok {
				e.Message, e.Kind = own.Message, own.Kind
			}
			e.Hint = keepsWaiting
			return &e
		}
	}
	return nil
}
