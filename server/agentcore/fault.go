package agentcore

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/braidrun/braid/event"
	wire "github.com/braidrun/braid/wire/agentcore"
)

func wrong(message, hint string) error {
	return &event.Error{Op: "agentcore", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// fault is an error response that the table of kinds does not have.
type fault struct {
	status                   int
	exception, message, hint string
}

// validation is the exception for an invalid request.
const validation = "ValidationException"

func (f *fault) Error() string { return f.message }

// codeOf returns the code of an error for logs and audits: the native wire's, or else AWS's
// exception.
func codeOf(err error, f *fault) string {
	if _, ok := errors.AsType[*fault](err); ok {
		return f.exception
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.Code != "" {
		return e.Code
	}
	return event.KindOf(err).Info().Code
}

// faultOf maps an error by the wire's table.
func faultOf(err error) *fault {
	body, status, exception := wire.ErrorOf(err)
	var t errorBody
	_ = json.Unmarshal(body, &t) // ErrorOf wrote it as JSON
	// The platform has one status for all invalid requests and one for all server errors. These
	// two statuses tell a client what to do.
	switch e, _ := errors.AsType[*event.Error](err); {
	case e == nil:
	case e.Kind == event.ErrTooLarge:
		status = http.StatusRequestEntityTooLarge
	case e.Kind == event.ErrUnavailable && e.RetryAfter > 0:
		status = http.StatusServiceUnavailable
	}
	return &fault{status, exception, t.Error, t.Details}
}

// failed returns the response to a failed run: the agent's failure, which an SDK must not retry.
func failed(e *event.Error) error {
	if e == nil {
		e = &event.Error{}
	}
	f := faultOf(e)
	f.status, f.exception = http.StatusFailedDependency, "RuntimeClientError"
	return f
}

// errorBody is an error body of the container endpoints, in the Python program's order of fields.
type errorBody struct {
	Error   string `json:"error"`
	Details string `json:"details,omitempty"`
}

func notSigned(code, message string) error {
	return &fault{status: http.StatusForbidden, exception: code, message: message}
}

// deniedStatus returns 403 as AWS does on the AWS endpoints, and HTTP's 401 on the container's.
func deniedStatus(door bool) int {
	if door {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}
