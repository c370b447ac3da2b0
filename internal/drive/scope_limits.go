package drive

import (
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// tooMany says why the scope may not open so many more agents; nil where it may. The Code is
// the stop reason, by which the fold knows that the scope is to end.
func (d *activeRun) tooMany(s *fold.Scope, more int) *event.Error {
	l := d.cfg.agent.Limits
	had := len(d.view.Run.Scopes)
	all := l.Budget.Scopes
	switch {
	case l.Depth > 0 && s.Depth+1 > l.Depth:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitDepth),
			Message: "agents may call agents " + strconv.Itoa(l.Depth) + " levels deep, and this would be one more.",
		}
	case l.Scopes > 0 && had+more > l.Scopes:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitScopes),
			Message: "the run has opened as many agents as it may (" + strconv.Itoa(l.Scopes) + ").",
		}
	case all > 0 && d.view.Spent.Scopes+had-1+more > all:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitScopes),
			Message: "the conversation has opened as many agents as it may (" + strconv.Itoa(all) + ").",
		}
	}
	return nil
}
