package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// answer records the status of a response.
type answer struct {
	http.ResponseWriter

	code int
	// refusal is the code of the error that was answered; empty for none.
	refusal string
	// time is how long the answer may take to be read; a stream sets it anew.
	time time.Duration
	// hold is what the request's body takes; nil for none.
	hold *service.Hold
}

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.time)) // where there are no deadlines, TCP's are left
	}
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) status() int {
	if a.code == 0 {
		return http.StatusOK
	}
	return a.code
}

type (
	requestID struct{}
	caller    struct{}
	atRoute   struct{}
)

func idOf(r *http.Request) string {
	id, _ := r.Context().Value(requestID{}).(string)
	return id
}

// routeOf is the route that a request has reached, with its method.
func routeOf(r *http.Request) string {
	if rt, ok := r.Context().Value(atRoute{}).(*route); ok {
		return strings.TrimSpace(rt.method + " " + rt.path)
	}
	return "none"
}

// callerOf is who shows the request's credential.
func callerOf(r *http.Request) *door.Caller {
	if c, ok := r.Context().Value(caller{}).(*door.Caller); ok {
		return c
	}
	return new(door.Caller)
}

func who(r *http.Request) service.Principal { return callerOf(r).Principal }

const bearerPrefix = "Bearer "

// bearer is the token that a request shows; empty where it shows none.
func bearer(r *http.Request) secret.Secret {
	token, given := strings.CutPrefix(r.Header.Get("Authorization"), bearerPrefix)
	if !given {
		return secret.Secret{}
	}
	return secret.New(token)
}

// maxKey bounds an idempotency key.
const maxKey = 255

// idIn returns the id of a conversation or a run in a request's path; empty where what stands there is none.
func idIn(r *http.Request, name, prefix string) string {
	if id := r.PathValue(name); strings.HasPrefix(id, prefix) && isID(id) {
		return id
	}
	return ""
}

// isID reports whether a text from a request can be an id in logs and headers: short, and of letters,
// digits, - and _. An API key is none.
func isID(text string) bool {
	const most = 128
	if text == "" || len(text) > most || strings.Contains(text, directory.KeyPrefix) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// at is where something of the API is for the caller.
func (s *Server) at(parts ...string) string {
	return s.options.Base + "/v1/" + strings.Join(parts, "/")
}
