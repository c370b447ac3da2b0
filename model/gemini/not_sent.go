package gemini

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/provider"
)

// notSent returns the error for a request that the API would refuse. Nothing is sent.
func notSent(kind event.ErrorKind, message, hint string, args ...any) *event.Error {
	return provider.NotSent(op, kind, message, hint, args...)
}
