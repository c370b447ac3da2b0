package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire/native"
)

// statusError is an error of HTTP's own, which the table of kinds does not have.
type statusError struct {
	status              int
	code, message, hint string
}

func (e *statusError) Error() string { return e.message }

// refuse answers with an error. If an answer has begun, it cuts the connection, and the
// reader connects again.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := explain(err, idOf(r))
	s.metrics.Failed(who(r).Tenant, detail.Code)
	if status >= 500 {
		s.log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
			append(s.about(r, detail.Code), slog.Any("error", err), slog.Any("cause", errors.Unwrap(err)))...)
	}
	a, ok := w.(*answer)
	if ok && a.code != 0 {
		panic(http.ErrAbortHandler)
	}
	if ok {
		a.refusal = detail.Code
	}
	s.door.Refused(callerOf(r), err, directory.Refused{
		Status: status, Code: detail.Code, Route: routeOf(r), Request: detail.RequestID, Path: r.URL.Path,
	})
	if detail.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(detail.RetryAfter))
	}
	door.Exhausted(w.Header(), err)
	s.metrics.Refused(err)
	writeJSON(w, status, native.ErrorBody{Error: detail})
}

// explain returns the status and the body for an error. Causes stay inside.
func explain(err error, request string) (int, native.Error) {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status, native.Error{Code: e.code, Message: e.message, Hint: e.hint, RequestID: request}
	}
	d, status := native.ErrorOf(err)
	d.RequestID = request
	if d.RetryAfter == 0 && event.KindOf(err).Info().Retry && status != http.StatusGatewayTimeout {
		d.RetryAfter = 2
	}
	return status, d
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL_ERROR","message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // who does not read it any more needs no error
}

// about returns what a line of the log says of a request: its id, whose it is, what it is about, and the code
// of the refusal. It holds no credential, and of the path only what looks like an id.
func (*Server) about(r *http.Request, refusal string) []slog.Attr {
	by := callerOf(r).Named()
	return front.About(
		"request", idOf(r), "tenant", by.Tenant, "key", by.Key, "user", by.User,
		"conversation", idIn(r, "id", "conv_"), "run", idIn(r, "run", "run_"), "code", refusal,
	)
}
