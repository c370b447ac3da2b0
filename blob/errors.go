package blob

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

// NotFound returns the error for a blob that the tenant does not have.
func NotFound(op string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Message: "there are no such stored bytes", Hint: "check the reference or the digest"}
}

// Gone returns the error for a reference of a conversation that was removed.
func Gone(op string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Message: "there is no such conversation", Hint: "check the id"}
}

// TooSlow returns the error for a Put whose pieces were swept, or whose tenant was removed.
func TooSlow(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrGone, Message: "what was stored so far was removed: the bytes came too slowly, or their owner is gone",
		Hint: "store them again from the beginning",
	}
}

// Damaged returns the error for stored bytes that are not what was put.
func Damaged(op, what string, cause error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInternal, Code: CodeDamaged, Err: cause, Message: "stored bytes are damaged: " + what,
		Hint: "restore a backup; other stored bytes are not affected",
	}
}

func tooLarge(op string) error {
	return &event.Error{Op: op, Kind: event.ErrTooLarge, Message: "there are more bytes than may be stored", Hint: "store fewer bytes"}
}

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

func notText(op string) error {
	return invalid(op, "a name or an id is not UTF-8, or holds a zero character", "send UTF-8 without zero characters")
}

// alive returns an error if ctx is done.
func alive(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Err: err, Message: "the caller gave up"}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the time was over", "allow more time"
	}
	return e
}

// cut returns the error for a source that failed.
func cut(op string, cause error) error {
	if e, ok := errors.AsType[*event.Error](cause); ok {
		return e
	}
	e := &event.Error{Op: op, Kind: event.ErrStreamCut, Err: cause, Message: "the bytes to store ended with an error", Hint: "send them again"}
	switch {
	case errors.Is(cause, context.Canceled):
		e.Kind = event.ErrCancelled
	case errors.Is(cause, context.DeadlineExceeded):
		e.Kind = event.ErrTimeout
	}
	return e
}
