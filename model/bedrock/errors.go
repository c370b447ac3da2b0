package bedrock

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/provider"
)

// wrong returns the error for a bad option or name.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// notSent returns the error for a request that the API would refuse.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}

var errNoAnswer = errors.New("the response is not from the API")

var (
	errCut        = errors.New("the answer ended before its end signal")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// errNoKeys is wrapped by errors before sending: there is neither a key nor credentials.
var errNoKeys = errors.New("there are no credentials")
