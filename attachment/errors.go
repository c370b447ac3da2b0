package attachment

import (
	"errors"
	"strconv"

	"github.com/braidrun/braid/event"
)

const op = "attachment"

func invalid(name, problem, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Code: Invalid, Message: Title(name) + " " + problem, Hint: hint}
}

func unreadable(name, problem, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrUnsupported, Code: Unreadable, Message: Title(name) + " " + problem, Hint: hint}
}

func tooLarge(name string, most int) error {
	return &event.Error{
		Op: op, Kind: event.ErrTooLarge, Code: TooLarge,
		Message: Title(name) + " has more than " + strconv.Itoa(most>>20) + " MiB", Hint: "send a smaller file, or a part of it",
	}
}

// Title names an attachment in an error. It quotes the name, and cuts a long one.
func Title(name string) string {
	const most = 80
	switch {
	case name == "":
		return "the attachment"
	case len(name) > most:
		return "the attachment " + strconv.Quote(name[:most]) + "…"
	}
	return "the attachment " + strconv.Quote(name)
}

// CannotRead returns the error of a model that cannot read an attachment. It names both, and keeps the kind and the hint of
// the model's own error.
func CannotRead(model, name string, err error) error {
	bad := &event.Error{Op: op, Kind: event.ErrUnsupported, Code: Unreadable, Err: err}
	bad.Message = "the model " + model + " cannot read " + Title(name)
	if e, ok := errors.AsType[*event.Error](err); ok {
		bad.Kind, bad.Hint = e.Kind, e.Hint
		if e.Kind == event.ErrTooLarge {
			bad.Code = TooLarge
		}
		bad.Message += ": " + e.Message
	}
	return bad
}
