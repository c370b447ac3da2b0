package agentcore

import (
	"cmp"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire"
)

// Strands' exceptions that have a counterpart here.
const (
	throttledClass = "ModelThrottledException"
	overflowClass  = "ContextWindowOverflowException"
	maxTokensClass = "MaxTokensReachedException"
	loopClass      = "EventLoopException"
)

// faultOf returns the message and exception class of an error in the stream. It hides the message
// of an internal error.
func faultOf(err *event.Error) (message, class string) {
	if err == nil {
		err = &event.Error{}
	}
	_, message, _ = wire.FaultOf(err)
	class = loopClass
	switch info := event.KindOf(err).Info(); info.Kind {
	case event.ErrInternal:
		return message, class
	case event.ErrThrottled, event.ErrOverloaded:
		class = throttledClass
	case event.ErrContextOverflow:
		class = overflowClass
	case event.ErrMaxTokens:
		class = maxTokensClass
	}
	return message, cmp.Or(err.Code, class)
}

// ErrorOf returns the response to an error before the stream has begun. body is JSON in the
// Python program's form, without spaces, with the hint as its details. status and exception are
// from the platform's error page. It hides the message of an internal error.
func ErrorOf(err error) (body []byte, status int, exception string) {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		e = &event.Error{Kind: event.KindOf(err)}
	}
	info := event.KindOf(e).Info()
	message, _ := faultOf(e)
	body = appendQuoted([]byte(`{"error":`), message, false)
	if e.Hint != "" && info.Kind != event.ErrInternal {
		body = appendQuoted(append(body, `,"details":`...), e.Hint, false)
	}
	return append(body, '}'), statusOf(info.AgentCore), info.AgentCore
}

// statusOf returns the platform's status for an exception.
func statusOf(exception string) int {
	switch exception {
	case "ValidationException":
		return 400
	case "ServiceQuotaExceededException":
		return 402
	case "AccessDeniedException":
		return 403
	case "ResourceNotFoundException":
		return 404
	case "RetryableConflictException":
		return 409
	case "RuntimeClientError":
		return 424
	case "ThrottlingException":
		return 429
	default:
		return 500
	}
}
