package drive

import (
	"strconv"

	"github.com/braidrun/braid/event"
)

// checkInput is the stage that refuses a call of an unknown tool, or with arguments that are not JSON. An agent that is
// used as a tool reads its arguments itself.
func (d *activeRun) checkInput(w *toolWork) {
	p, c := w.decision, w.entry
	if p.refused != nil || p.args != nil && w.call.tool != nil {
		return
	}
	if OpensScopes(w.call.tool) {
		return
	}
	switch {
	case w.call.tool == nil:
		p.refused = &event.Error{
			Kind:    event.ErrNotFound,
			Message: "there is no tool called " + strconv.Quote(c.Name) + "; " + orTheyAreFound(w.agent, d.offer(w.scope, w.agent)) + ".",
		}
	case c.Args == nil:
		p.refused = &event.Error{Kind: event.ErrInvalid, Message: c.Fault + "."}
	}
}
