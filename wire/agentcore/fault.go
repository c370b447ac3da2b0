package agentcore

import (
	"errors"

	"github.com/braidrun/braid/event"
)

// The exceptions of Strands that have a counterpart here.
const (
	throttledClass = "ModelThrottledException"
	overflowClass  = "ContextWindowOverflowException"
	maxTokensClass = "MaxTokensReachedException"
	loopClass      = "EventLoopException"
)

// faultOf returns an error as the stream reports it: its sentence and the class of the
// exception. Of an internal error it returns only that it is one.
func faultOf(err *event.Error) (message, class string) {
	if err == nil {
		err = &event.Error{}
	}
	info := event.KindOf(err).Info()
	message, class = info.Meaning, loopClass
	switch info.Kind {
	case event.ErrInternal:
		return message, class
	case event.ErrThrottled, event.ErrOverloaded:
		class = throttledClass
	case event.ErrContextOverflow:
		class = overflowClass
	case event.ErrMaxTokens:
		class = maxTokensClass
	}
	if err.Message != "" {
		message = err.Message
	}
	if err.Code != "" {
		class = err.Code
	}
	return message, class
}

// ErrorOf is what stands in place of a stream that has not begun: the body as the
// Python program writes it, which is JSON without spaces there, with what to do next as
// its details; and the status and exception of the platform's page of errors. Of an
// internal error it says no more than that it is one.
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

// statusOf is the status that the platform answers an exception with.
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
