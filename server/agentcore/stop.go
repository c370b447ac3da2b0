package agentcore

import (
	"errors"
	"net/http"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
)

// stop ends a runtime session: it cancels its run, and the next invocation starts with an empty
// history.
func (x *exchange) stop() error {
	if x.R.Header.Get(sessionHeader) == "" {
		return front.Bad("the request names no session", "send "+sessionHeader)
	}
	if err := x.inSession(x.R.Header.Get(sessionHeader)); err != nil {
		return err
	}
	if _, err := x.readBody(); err != nil { // the token in it is for repetitions, and stopping twice is harmless
		return err
	}
	ctx := x.R.Context()
	s := x.h.service
	conv, err := s.ConversationNamed(ctx, x.Who.Principal, x.conversation())
	if errors.Is(err, event.ErrNotFound) {
		return noSession("it begins with its first invocation")
	}
	if err != nil {
		return err
	}
	for i := range conv.Open {
		err := s.CancelRun(ctx, x.Who.Principal, conv.ID, conv.Open[i].ID)
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // both mean that the run has ended
			return err
		}
	}
	if _, err := s.ResetConversation(ctx, x.Who.Principal, conv.ID); err != nil {
		return err
	}
	x.json(http.StatusOK, map[string]int{"statusCode": http.StatusOK})
	return nil
}

func noSession(hint string) error {
	return front.Refusal(event.ErrNotFound, "there is no such session", hint)
}
