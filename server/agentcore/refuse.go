package agentcore

import (
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// fault is an error that the table of kinds does not have.
type fault struct {
	status                   int
	exception, message, hint string
}

// validation is the exception of a request that is wrong.
const validation = "ValidationException"

func (f *fault) Error() string { return f.message }

// refuse answers with an error, unless an answer has begun: then only cutting it off is
// left. The container's door has the form of the Python program, AWS's the one that its
// SDKs make typed errors of.
func (x *exchange) refuse(err error) {
	f, body := x.explain(err)
	x.Refuse(err, f.status, codeOf(err, f))
	x.W.Header().Set(awsErrorType, f.exception)
	x.json(f.status, body)
}

// codeOf is the code of an error in logs and audits: the native wire's, or else AWS's exception.
func codeOf(err error, f *fault) string {
	if _, ok := errors.AsType[*fault](err); ok {
		return f.exception
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.Code != "" {
		return e.Code
	}
	return event.KindOf(err).Info().Code
}

// told is an error as the container's door tells it, in the order of the Python program.
type told struct {
	Error   string `json:"error"`
	Details string `json:"details,omitempty"`
}

// awsMessage is one as AWS's SDKs read it.
type awsMessage struct {
	Message string `json:"message"`
}

// explain returns what the caller is told of an error. Causes stay inside.
func (x *exchange) explain(err error) (*fault, any) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = faultOf(err)
	}
	if !x.door {
		return f, told{f.message, f.hint}
	}
	if f.hint == "" {
		return f, awsMessage{f.message}
	}
	return f, awsMessage{f.message + ": " + f.hint}
}

// faultOf is the fault of an error by the one table.
func faultOf(err error) *fault {
	body, status, exception := wire.ErrorOf(err)
	var t told
	_ = json.Unmarshal(body, &t) // it was written a moment ago
	// The platform has one status for all that is wrong with a request, and one for all that is wrong with the
	// server; these two tell a client what to do.
	switch e, _ := errors.AsType[*event.Error](err); {
	case e == nil:
	case e.Kind == event.ErrTooLarge:
		status = http.StatusRequestEntityTooLarge
	case e.Kind == event.ErrUnavailable && e.RetryAfter > 0:
		status = http.StatusServiceUnavailable
	}
	return &fault{status, exception, t.Error, t.Details}
}

// failed is the error of a run that has failed: it is the agent's, whatever it is, and no
// SDK is to send the request again.
func failed(e *event.Error) error {
	if e == nil {
		e = &event.Error{}
	}
	f := faultOf(e)
	f.status, f.exception = http.StatusFailedDependency, "RuntimeClientError"
	return f
}

// fit cuts what a caller wrote.
func fit(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
