package service

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// codeArchived is the Code of the error for a run in an archived conversation.
const codeArchived = "CONVERSATION_ARCHIVED"

func isArchived(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeArchived
}

// codeKeyReused is the Code of the error for an idempotency key that was used with another request.
const codeKeyReused = "IDEMPOTENCY_MISMATCH"

// KeyReused reports whether err says that an idempotency key was used for another request before.
func KeyReused(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeKeyReused
}

func keyReused(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: codeKeyReused, Message: "the idempotency key was used with another request",
		Hint: "use a new key for a new request",
	}
}

// codeNotRetryable is the Code of the error for a run that cannot be continued.
const codeNotRetryable = "RUN_NOT_RETRYABLE"

func isNotRetryable(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeNotRetryable
}

func notRetryable(why string) error {
	return &event.Error{
		Op: "retry run", Kind: event.ErrConflict, Code: codeNotRetryable, Message: "the run cannot be continued: " + why,
		Hint: "send the request as a new run",
	}
}

// isPassed reports whether the journal refused a run because the run that it continues is not the
// newest.
func isPassed(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == journal.CodePassed
}
