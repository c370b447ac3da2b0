package wire

import (
	"errors"

	"github.com/braidrun/braid/event"
)

// FaultOf returns what a client is told of an error: its code, its message or else what its kind means, and what to do next.
// Of an internal error it is only that it is one.
func FaultOf(err error) (code, message, hint string) {
	info := event.KindOf(err).Info()
	code, message = info.Code, info.Meaning
	e, ok := errors.AsType[*event.Error](err)
	if !ok || info.Kind == event.ErrInternal {
		return code, message, ""
	}
	if e.Message != "" {
		message = e.Message
	}
	if e.Code != "" {
		code = e.Code
	}
	return code, message, e.Hint
}
